"""What a judge may answer, and how an answer is held against it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from farm.model.judge import JudgeAnswer, JudgeAxis
from farm.model.rubric import AxisSpec

TIERS = (0, 0.5, 1)
EVIDENCE_CAP = 300
_REPLY_CAP = 1 << 20
_STARTS_TRIED = 200


def answer_schema(axes: Mapping[str, AxisSpec]) -> dict[str, Any]:
    """JSON Schema of a valid answer, for structured output. Each axis admits its own codes only."""
    shapes = [_axis_schema(name, spec) for name, spec in axes.items()]
    items: dict[str, Any] = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["axes"],
        "properties": {
            "axes": {"type": "array", "minItems": len(shapes), "maxItems": len(shapes), "items": items},
        },
    }


def _axis_schema(name: str, spec: AxisSpec) -> dict[str, Any]:
    # The name comes first and is one value: providers tell the shapes of an anyOf apart by their first key.
    properties = {
        "name": {"type": "string", "enum": [name]},
        "score": {"type": "number", "enum": list(TIERS)},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "code": {"anyOf": [{"type": "string", "enum": list(spec.codes)}, {"type": "null"}]},
        "evidence": {"type": "string", "maxLength": EVIDENCE_CAP},
    }
    # Every field is required, as strict structured output wants it.
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def check_reply(text: str, asked: Mapping[str, AxisSpec]) -> tuple[JudgeAnswer | None, list[str]]:
    """Read a model's reply and hold it against the rubric: the valid answer, or every fault."""
    try:
        return validate_answer(parse_answer(text), asked)
    except ValueError as error:
        return None, [str(error)]


def parse_answer(text: str) -> object:
    """Read the one JSON object in a reply, code fences and prose around it allowed.

    Raises:
        ValueError: there is none, or more than one.

    """
    if len(text) > _REPLY_CAP:
        raise ValueError("the reply is too long to be an answer")
    decoder = json.JSONDecoder()
    found: list[object] = []
    tried = 0
    start = text.find("{")
    while start >= 0 and tried < _STARTS_TRIED:
        tried += 1
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            # Not JSON from here: a brace in prose, perhaps.
            end = start + 1
        else:
            found.append(value)
        start = text.find("{", end)
    if len(found) == 1:
        return found[0]
    raise ValueError("the reply holds more than one JSON object" if found else "the reply holds no JSON object")


def validate_answer(answer: object, asked: Mapping[str, AxisSpec]) -> tuple[JudgeAnswer | None, list[str]]:
    """Hold an answer against the rubric: the valid answer, or every fault in one line each.

    Only asked axes are accepted, each once, all of them; so an oracle's axis never is. Confidence 0 is
    `na`: the rest is ignored. A score below 1 needs a code of that axis and evidence; a code on a full
    score is dropped.
    """
    if not isinstance(answer, dict):
        return None, ["the answer must be an object with a list `axes`"]
    items = answer.get("axes")
    if not isinstance(items, list):
        return None, ["the answer must be an object with a list `axes`; `axes` is no list"]
    faults: list[str] = []
    axes: dict[str, JudgeAxis] = {}
    seen: set[str] = set()
    for position, item in enumerate(items):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(name, str):
            faults.append(f"axes[{position}] must be an object with a name")
        elif name not in asked:
            faults.append(f"axis {name[:64]!r} was not asked for")
        elif name in seen:
            faults.append(f"axis {name!r} is answered twice")
        else:
            seen.add(name)
            axis = _axis(name, item, asked[name], faults)
            if axis is not None:
                axes[name] = axis
    faults += [f"axis {name!r} is missing" for name in asked if name not in seen]
    return (None, faults) if faults else (JudgeAnswer(axes=tuple(axes[name] for name in asked)), [])


def _axis(name: str, item: dict[str, Any], spec: AxisSpec, faults: list[str]) -> JudgeAxis | None:
    """One axis normalised, or None and its faults added."""
    before = len(faults)
    confidence = _number(item.get("confidence", 1))
    if confidence == 0:
        return JudgeAxis(name=name, score=0.0, confidence=0.0, evidence="")
    if confidence is None or not 0 <= confidence <= 1:
        faults.append(f"{name}: confidence must be a number from 0 to 1")
    score = _number(item.get("score"))
    if score not in TIERS:
        faults.append(f"{name}: score must be 0, 0.5 or 1")
    code, evidence = None, _evidence(item.get("evidence"))
    if score in (0, 0.5):
        code = item.get("code")
        if not isinstance(code, str) or code not in spec.codes:
            faults.append(f"{name}: a score below 1 needs one of the codes {', '.join(spec.codes)}")
        if not evidence:
            faults.append(f"{name}: a score below 1 needs a line of evidence")
    if len(faults) > before or score is None or confidence is None:
        return None
    return JudgeAxis(name=name, score=score, confidence=confidence, code=code, evidence=evidence)


def _evidence(value: object) -> str:
    """One storable line: no control characters, which a terminal would obey, and no lone surrogates."""
    if not isinstance(value, str):
        return ""
    printable = "".join(letter if letter.isprintable() else " " for letter in value)
    return " ".join(printable.split())[:EVIDENCE_CAP].rstrip()


def _number(value: object) -> float | None:
    """A JSON number as a float; a boolean is none, although Python counts it as one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
