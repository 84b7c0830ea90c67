"""Asking a hosted model: one conversation, at most two re-asks, a validated answer or a reason."""

from __future__ import annotations

import os
import secrets
from typing import NamedTuple

from farm.llm.clients import Turn, open_client
from farm.model.judge import JudgeAxis, ModelJudge
from farm.model.manifest import FrozenJudge
from farm.model.rubric import AxisSpec
from farm.scoring.judge_prompt import judge_prompt
from farm.scoring.judgement import answer_schema, parse_answer, validate_answer

REASKS = 2


class Judgement(NamedTuple):
    """What came of asking."""

    axes: tuple[JudgeAxis, ...]
    reason: str
    asks: int
    input_tokens: int
    output_tokens: int


def ask_model(judge: FrozenJudge, files: dict[str, bytes], axes: dict[str, AxisSpec], deadline: float) -> Judgement:
    """Ask until the answer fits the rubric, three times at most.

    Raises:
        FarmError: the model cannot be reached or refuses the request.

    """
    assert isinstance(judge.spec, ModelJudge)
    client = open_client(judge.spec, judge.model or "", os.environ, deadline)
    system, question = judge_prompt(files, axes, secrets.token_hex(8))
    turns = [Turn("user", question)]
    tokens_in = tokens_out = 0
    faults: list[str] = []
    for asks in range(1, REASKS + 2):
        reply = client.ask(system, turns, answer_schema(axes))
        tokens_in, tokens_out = tokens_in + reply.input_tokens, tokens_out + reply.output_tokens
        try:
            answer, faults = validate_answer(parse_answer(reply.text), axes)
        except ValueError as error:
            answer, faults = None, [str(error)]
        if answer is not None:
            return Judgement(answer.axes, "", asks, tokens_in, tokens_out)
        complaint = "Your answer does not fit:\n- " + "\n- ".join(faults) + "\nAnswer again, in full."
        turns += [Turn("assistant", reply.text or "(empty)"), Turn("user", complaint)]
    return Judgement((), f"no valid answer in {REASKS + 1} asks: {'; '.join(faults)}", asks, tokens_in, tokens_out)
