"""What a judge may answer, and how an answer is held against it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from farm.model.judge import JudgeAnswer, JudgeAxis
from farm.model.rubric import AxisSpec

_EVIDENCE = 300


def parse_answer(text: str) -> object:
    """Read the one JSON object in a reply, code fences and prose around it allowed.

    Raises:
        ValueError: there is none.

    """
    fenced = re.search(r"```(?:json)?\s*(\{.*\})\s*```", text, re.DOTALL)
    body = fenced[1] if fenced else text[text.find("{") : text.rfind("}") + 1]
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the reply holds no JSON object") from None


def answer_schema(asked: Mapping[str, AxisSpec]) -> dict[str, Any]:
    """JSON Schema of a valid answer, for structured output."""
    codes = sorted({code for axis in asked.values() for code in axis.codes})
    axis = {
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "score", "confidence", "code", "evidence"],
        "properties": {
            "name": {"type": "string", "enum": list(asked)},
            "score": {"type": "number", "enum": [0, 0.5, 1]},
            "confidence": {"type": "number"},
            "code": {"anyOf": [{"type": "string", "enum": codes}, {"type": "null"}]},
            "evidence": {"type": "string"},
        },
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["axes"],
        "properties": {"axes": {"type": "array", "items": axis}},
    }


def validate_answer(answer: object, asked: Mapping[str, AxisSpec]) -> tuple[JudgeAnswer | None, list[str]]:
    """Hold an answer against the rubric: the valid answer, or every fault in one line each.

    Only asked axes are accepted, each once, all of them. Confidence 0 is `na`: the rest is ignored. A
    score below 1 needs a code of that axis and evidence; a code on a full score is dropped.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("axes"), list):
        return None, ["the answer must be an object with a list `axes`"]
    faults: list[str] = []
    axes: dict[str, JudgeAxis] = {}
    for position, item in enumerate(answer["axes"]):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(name, str):
            faults.append(f"axes[{position}] must be an object with a name")
        elif name not in asked:
            faults.append(f"axis {name!r} was not asked for")
        elif name in axes:
            faults.append(f"axis {name!r} is answered twice")
        else:
            axis, axis_faults = _axis(name, item, asked[name])
            axes[name] = axis
            faults += axis_faults
    faults += [f"axis {name!r} is missing" for name in asked if name not in axes]
    return (None, faults) if faults else (JudgeAnswer(axes=tuple(axes.values())), [])


def _axis(name: str, item: dict[str, Any], spec: AxisSpec) -> tuple[JudgeAxis, list[str]]:
    na = JudgeAxis(name=name, score=0.0, confidence=0.0, evidence="")
    confidence = item.get("confidence", 1)
    if not _number(confidence) or not 0 <= confidence <= 1:
        return na, [f"{name}: confidence must be a number from 0 to 1"]
    if confidence == 0:
        return na, []
    score = item.get("score")
    if not _number(score) or score not in (0, 0.5, 1):
        return na, [f"{name}: score must be 0, 0.5 or 1"]
    evidence = " ".join(str(item.get("evidence") or "").split())[:_EVIDENCE]
    if score == 1:
        return JudgeAxis(name=name, score=1.0, confidence=float(confidence), evidence=evidence), []
    faults = []
    code = item.get("code")
    if code not in spec.codes:
        faults.append(f"{name}: a score below 1 needs one of the codes {', '.join(spec.codes)}")
    if not evidence:
        faults.append(f"{name}: a score below 1 needs a line of evidence")
    if faults:
        return na, faults
    return (
        JudgeAxis(name=name, score=float(score), confidence=float(confidence), code=code, evidence=evidence),
        [],
    )


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
