"""Asking a hosted model for the soft axes: the rubric's words and checks, put to one judge client."""

from __future__ import annotations

import os
import secrets

from farm.llm.clients import open_client
from farm.llm.judge import Judgement, judge
from farm.model.judge import JudgeAnswer, ModelJudge
from farm.model.manifest import FrozenJudge
from farm.model.rubric import AxisSpec
from farm.model.scalars import LifecycleType
from farm.scoring.judge_prompt import JudgeFiles, judge_messages
from farm.scoring.judgement import answer_schema, check_reply


def ask_model(
    frozen: FrozenJudge,
    files: JudgeFiles,
    axes: dict[str, AxisSpec],
    deadline: float,
    kind: LifecycleType = "run",
    label: str = "",
) -> Judgement[JudgeAnswer]:
    """Ask until the answer fits the rubric, three times at most.

    Args:
        frozen: the judge, its model resolved.
        files: what the model sees.
        axes: the axes that are asked for.
        deadline: seconds for all asking together.
        kind: the scenario's lifecycle type.
        label: the rubric's own name for that type.

    Raises:
        FarmError: the model cannot be reached or refuses the first request.

    """
    assert isinstance(frozen.spec, ModelJudge)
    client = open_client(frozen.spec, frozen.model or "", os.environ, deadline)
    system, question = judge_messages(files, axes, secrets.token_hex(16), kind, label)
    return judge(client, system, question, answer_schema(axes), lambda text: check_reply(text, axes))
