"""What a judge may answer."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from farm.model.judge import JudgeAnswer
from farm.model.rubric import AxisSpec
from farm.scoring.judgement import answer_schema, check_reply, parse_answer, validate_answer

AXES = {"clarity": AxisSpec(codes=("C-ONE", "C-TWO")), "memory": AxisSpec(codes=("M-ONE",))}
FULL = {"name": "clarity", "score": 1, "confidence": 1, "code": None, "evidence": ""}
HALF = {"name": "memory", "score": 0.5, "confidence": 0.6, "code": "M-ONE", "evidence": "log.md: no entry"}


def clarity(**fields):
    return {"axes": [{**FULL, **fields}, HALF]}


def without(*names):
    return {"axes": [{key: value for key, value in FULL.items() if key not in names}, HALF]}


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ([], "the answer must be an object"),
        (None, "the answer must be an object"),
        ({}, "`axes` is no list"),
        ({"axes": {"clarity": 1}}, "`axes` is no list"),
        ({"axes": [FULL]}, "axis 'memory' is missing"),
        ({"axes": [FULL, HALF, FULL]}, "axis 'clarity' is answered twice"),
        ({"axes": [FULL, HALF, "x"]}, "axes[2] must be an object with a name"),
        ({"axes": [FULL, HALF, {"name": ["clarity"]}]}, "axes[2] must be an object with a name"),
        ({"axes": [FULL, HALF, {**FULL, "name": "correctness"}]}, "axis 'correctness' was not asked for"),
        (clarity(score=0.7), "clarity: score must be 0, 0.5 or 1"),
        (clarity(score=True), "clarity: score must be 0, 0.5 or 1"),
        (clarity(score="1"), "clarity: score must be 0, 0.5 or 1"),
        (clarity(score=math.nan), "clarity: score must be 0, 0.5 or 1"),
        (clarity(score=10**400), "clarity: score must be 0, 0.5 or 1"),
        (without("score"), "clarity: score must be 0, 0.5 or 1"),
        (clarity(confidence=1.1), "clarity: confidence must be a number from 0 to 1"),
        (clarity(confidence=-1), "clarity: confidence must be a number from 0 to 1"),
        (clarity(confidence=math.nan), "clarity: confidence must be a number from 0 to 1"),
        (clarity(confidence=False), "clarity: confidence must be a number from 0 to 1"),
        (clarity(confidence=None), "clarity: confidence must be a number from 0 to 1"),
        (clarity(score=0, evidence="x"), "clarity: a score below 1 needs one of the codes C-ONE, C-TWO"),
        (clarity(score=0, evidence="x", code="M-ONE"), "clarity: a score below 1 needs one of the codes C-ONE, C-TWO"),
        (clarity(score=0, evidence="x", code=["C-ONE"]), "clarity: a score below 1 needs one of the codes"),
        (clarity(score=0.5, code="C-ONE"), "clarity: a score below 1 needs a line of evidence"),
        (clarity(score=0.5, code="C-ONE", evidence=" \n"), "clarity: a score below 1 needs a line of evidence"),
        (clarity(score=0.5, code="C-ONE", evidence=7), "clarity: a score below 1 needs a line of evidence"),
    ],
)
def test_each_fault_is_told(answer, fault):
    valid, faults = validate_answer(answer, AXES)
    assert valid is None and len(faults) == 1 and fault in faults[0]


def test_all_faults_are_told_at_once():
    bad = {"axes": [{"name": "clarity", "score": 0, "confidence": 3}, {"name": "other"}]}
    _, faults = validate_answer(bad, AXES)
    assert faults == [
        "clarity: confidence must be a number from 0 to 1",
        "clarity: a score below 1 needs one of the codes C-ONE, C-TWO",
        "clarity: a score below 1 needs a line of evidence",
        "axis 'other' was not asked for",
        "axis 'memory' is missing",
    ]


def axis(**fields):
    valid, faults = validate_answer(clarity(**fields), AXES)
    assert faults == [] and valid is not None
    return valid.axes[0]


def test_confidence_zero_is_na_whatever_else_is_said():
    na = axis(confidence=0, score="nonsense", code=3, evidence=[1])
    assert (na.score, na.confidence, na.code, na.evidence) == (0.0, 0.0, None, "")


def test_confidence_may_be_left_out():
    valid, faults = validate_answer(without("confidence"), AXES)
    assert faults == [] and valid is not None and valid.axes[0].confidence == 1.0


def test_a_code_on_a_full_score_is_dropped():
    assert axis(code="anything").code is None


def test_evidence_is_one_storable_line():
    assert axis(evidence=" a\n\tb\x1b[2Jc\u2028d\ud800 ").evidence == "a b [2Jc d"
    assert len(axis(evidence="e" * 900).evidence) == 300


def test_axes_come_in_the_order_asked():
    valid, _ = validate_answer({"axes": [HALF, FULL]}, AXES)
    assert valid is not None and [item.name for item in valid.axes] == ["clarity", "memory"]


@pytest.mark.parametrize(
    "text",
    [
        '{"axes": []}',
        '```json\n{"axes": []}\n```',
        '```\n{"axes": []}```',
        'I looked at {braces} and {"half: and\n\n{"axes": []}\nDone.',
        '\ufeff  {"axes": []}',
    ],
)
def test_the_one_object_is_found(text):
    assert parse_answer(text) == {"axes": []}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object"),
        ("1.0", "no JSON object"),
        ('{"axes": [', "no JSON object"),
        ("{" * 100_000, "no JSON object"),
        ('{"a":' * 100_000, "no JSON object"),
        ('{"axes": []} or {"axes": []}', "more than one"),
        ("x" * 2_000_000, "too long"),
    ],
)
def test_anything_else_is_said_to_be_none(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse_answer(text)
    assert check_reply(text, AXES)[0] is None


@pytest.mark.parametrize("asked", [AXES, {"memory": AXES["memory"]}])
def test_the_schema_admits_what_is_valid_and_each_axis_its_own_codes_only(asked):
    schema = answer_schema(asked)
    Draft202012Validator.check_schema(schema)
    held = Draft202012Validator(schema)
    good = {"axes": [item for item in (FULL, HALF) if item["name"] in asked]}
    assert held.is_valid(good)
    for off in ({"score": 0.7}, {"code": "C-ONE"}, {"confidence": 2}, {"name": "correctness"}, {"evidence": "e" * 301}):
        assert not held.is_valid({"axes": [*good["axes"][:-1], {**HALF, **off}]})


NAMES = st.sampled_from([*AXES, "correctness"]) | st.text(max_size=5)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | NAMES | st.sampled_from([0, 0.5, 1])
VALUE = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))
ITEM = st.fixed_dictionaries(
    {"name": NAMES}, optional=dict.fromkeys(("score", "confidence", "code", "evidence"), VALUE)
)


@given(VALUE | st.fixed_dictionaries({"axes": st.lists(ITEM | VALUE, max_size=5)}))
def test_validation_is_total_and_its_faults_are_lines(value):
    valid, faults = validate_answer(value, AXES)
    assert (valid is None) == bool(faults)
    assert all(fault and fault.isprintable() and len(fault) < 500 for fault in faults)
    if valid is not None:
        valid.model_dump_json()


@given(st.text() | st.text(alphabet='{}[]":,ax 01\\'))
def test_reading_is_total(text):
    assert (check_reply(text, AXES)[0] is None) == bool(check_reply(text, AXES)[1])


@st.composite
def answers(draw):
    items = []
    for name, spec in AXES.items():
        score = draw(st.sampled_from([0, 0.5, 1]))
        below = score < 1
        items.append(
            {
                "name": name,
                "score": score,
                "confidence": draw(st.floats(0, 1)),
                "code": draw(st.sampled_from(spec.codes)) if below else None,
                "evidence": draw(st.from_regex(r"\A[a-z]{1,40}( [a-z]{1,40}){0,3}\Z")) if below else "",
            }
        )
    return {"axes": items}


@given(answers())
def test_a_valid_answer_round_trips(answer):
    valid, faults = check_reply(f"So:\n```json\n{json.dumps(answer)}\n```", AXES)
    assert faults == [] and valid is not None
    for said, kept in zip(answer["axes"], valid.axes, strict=True):
        if said["confidence"] > 0:
            assert kept.model_dump() == said
    again, _ = validate_answer(json.loads(valid.model_dump_json()), AXES)
    assert again == valid == JudgeAnswer.model_validate_json(valid.model_dump_json())
