"""Asking a hosted model for the soft axes: the rubric's words and checks, put to one judge client."""

from __future__ import annotations

import os
import secrets
from typing import NamedTuple

from farm.llm.base import Reply
from farm.llm.clients import open_client
from farm.llm.judge import judge as converse
from farm.model.judge import JudgeAxis, ModelJudge
from farm.model.manifest import FrozenJudge
from farm.model.rubric import AxisSpec
from farm.scoring.judge_prompt import judge_prompt
from farm.scoring.judgement import answer_schema, check_reply


class Judgement(NamedTuple):
    """What came of asking."""

    axes: tuple[JudgeAxis, ...]
    reason: str
    asks: int
    input_tokens: int
    output_tokens: int
    replies: tuple[Reply, ...]
    """Every reply as it came, for the record."""


def ask_model(judge: FrozenJudge, files: dict[str, bytes], axes: dict[str, AxisSpec], deadline: float) -> Judgement:
    """Ask until the answer fits the rubric, three times at most.

    Raises:
        FarmError: the model cannot be reached or refuses the first request.

    """
    assert isinstance(judge.spec, ModelJudge)
    client = open_client(judge.spec, judge.model or "", os.environ, deadline)
    system, question = judge_prompt(files, axes, secrets.token_hex(16))
    done = converse(client, system, question, answer_schema(axes), lambda text: check_reply(text, axes))
    found = done.answer.axes if done.answer else ()
    return Judgement(found, done.reason, done.asks, done.usage.input_tokens, done.usage.output_tokens, done.replies)
