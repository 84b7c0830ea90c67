"""Rubric rules, checks, globs and judge answers, with values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.inputs.sweep_file import load_rubric
from farm.llm.families import family_of
from farm.model.judge import JudgeAxis
from farm.model.oracle import CmdCheck, DiffFilesCheck, DiffStatsCheck
from farm.model.rubric import Rubric
from farm.model.steps import AxisScore
from farm.scoring.checks import axes_of, score_cmd, score_diff_files, score_diff_stats
from farm.scoring.globs import matches
from farm.scoring.judge_prompt import JudgeFiles, judge_messages
from farm.scoring.judgement import parse_answer, validate_answer
from farm.scoring.rules import score_trial

RUBRIC, _ = load_rubric(None)
assert RUBRIC is not None
RUN = RUBRIC.types["run"].axes()


def hard(**scores):
    return [AxisScore(axis=name, score=score, evidence="" if score == 1 else "why") for name, score in scores.items()]


def test_aggregate_is_weighted_and_na_is_left_out():
    soft = [JudgeAxis(name="clarity", score=1.0), JudgeAxis(name="self_verification", score=0.0, confidence=0.0)]
    score = score_trial(
        RUBRIC, "run", hard(correctness=1, scope=0.5, regression_risk=1), soft, ["clarity", "self_verification"]
    )
    assert score.aggregate == 0.9  # (2 + 0.5 + 1 + 1) / 5
    assert score.category_scores == {"output_quality": 0.875, "long_term_impact": 1.0}
    assert score.passed and score.fail_reason is None


@pytest.mark.parametrize(
    ("axes", "reason"),
    [
        ({}, "no observed axes"),
        ({"correctness": 0.5, "scope": 1, "tests": 1, "clarity": 1}, "veto: correctness"),
        ({"correctness": 1, "scope": 0, "tests": 1, "clarity": 1}, "zero score: scope"),
        ({"correctness": 1, "scope": 0.5, "tests": 0.5, "clarity": 0.5}, "aggregate 0.7 below 0.8"),
    ],
)
def test_fail_reason_is_the_first_that_applies(axes, reason):
    score = score_trial(RUBRIC, "run", hard(**axes), [], [])
    assert (score.passed, score.fail_reason) == (False, reason)


def test_custom_axis_is_recorded_when_it_fails_too():
    custom = Rubric.model_validate(
        {"passThreshold": 0.5, "types": {"run": {"categories": {"mine": {"accessibility": ["AX-CONTRAST"]}}}}}
    )
    (axis,) = score_trial(custom, "run", hard(accessibility=0.0), [], []).axes
    assert (axis.score, axis.issue) == (0.0, "AX-CONTRAST")


def test_a_timeout_fails_whatever_was_expected():
    for expect in ("exit_zero", "exit_nonzero"):
        check = CmdCheck(id="c", axis="tests", type="cmd", cmd="x", expect=expect)
        assert score_cmd(check, None, b"").score == 0


def test_evidence_is_the_exit_code_and_the_last_lines():
    check = CmdCheck(id="c", axis="tests", type="cmd", cmd="x")
    assert score_cmd(check, 3, b"a\nb\n\nc\nd\n").evidence == "exit=3 | b | c | d"


def test_diff_checks():
    stats = DiffStatsCheck(id="s", axis="scope", type="diff_stats", max_added_lines=2, max_files=1)
    assert score_diff_stats(stats, 2, 99, 1).score == 1
    assert score_diff_stats(stats, 3, 0, 1).score == 0.5
    files = DiffFilesCheck(id="f", axis="scope", type="diff_files", allowed=("src/**",), forbidden=("**/test_*.py",))
    assert score_diff_files(files, ["src/a.py"]).score == 1
    assert score_diff_files(files, ["src/test_a.py"]).score == 0
    assert score_diff_files(files, ["b.py"]).evidence == "not allowed: b.py"
    both = axes_of([score_diff_stats(stats, 3, 0, 1), score_diff_files(files, ["src/a.py"])])
    assert [(axis.axis, axis.score, axis.evidence) for axis in both] == [("scope", 0.5, "s: added 3 > 2")]


@pytest.mark.parametrize(
    ("path", "glob", "wanted"),
    [
        ("x", "**/x", True),
        ("a/b/x", "**/x", True),
        ("a.b", "a?b", True),
        ("ab", "a?b", False),
        ("a/b", "*", False),
        ("a/b", "**", True),
        ("tests/a/b.py", "tests/", True),
        ("a\nb", "a*", True),
        ("a+b", "a+b", True),
    ],
)
def test_globs(path, glob, wanted):
    assert matches(path, [glob]) is wanted


def answer(**fields):
    return {"axes": [{"name": "clarity", "score": 1, "confidence": 1, **fields}]}


ASKED = {"clarity": RUN["clarity"]}


@pytest.mark.parametrize(
    ("given_answer", "fault"),
    [
        ([], "must be an object"),
        ({"axes": {}}, "must be an object"),
        ({"axes": []}, "is missing"),
        (answer(name="correctness"), "was not asked for"),
        (answer(score=0.7), "score must be"),
        (answer(score=True), "score must be"),
        (answer(score=0.5, evidence="x"), "needs one of the codes"),
        (answer(score=0.5, code="OQ-CLARITY-NAMING"), "line of evidence"),
        (answer(score=0, code="OQ-SCOPE-CHURN", evidence="x"), "needs one of the codes"),
        (answer(confidence=2), "confidence must be"),
        ({"axes": answer()["axes"] * 2}, "answered twice"),
    ],
)
def test_faulty_answers(given_answer, fault):
    valid, faults = validate_answer(given_answer, ASKED)
    assert valid is None and any(fault in line for line in faults)


def test_valid_answers_are_normalised():
    valid, faults = validate_answer(answer(score=0.5, code="OQ-CLARITY-NAMING", evidence="a\nb"), ASKED)
    assert faults == [] and valid is not None and valid.axes[0].evidence == "a b"
    na, _ = validate_answer(answer(score=0.3, confidence=0), ASKED)
    assert na is not None and (na.axes[0].score, na.axes[0].confidence) == (0.0, 0.0)
    full, _ = validate_answer(answer(code="nonsense"), ASKED)
    assert full is not None and full.axes[0].code is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["axes", "name", "score", "code"]), inner),
)


@given(JSON)
def test_validation_is_total(value):
    valid, faults = validate_answer(value, ASKED)
    assert (valid is None) == bool(faults)


def test_answers_are_found_in_prose_and_fences():
    assert parse_answer('Well:\n```json\n{"axes": []}\n```\nDone.') == {"axes": []}
    with pytest.raises(ValueError, match="no JSON"):
        parse_answer("no")


def test_the_prompt_caps_files_and_its_markers_cannot_be_forged():
    files = JudgeFiles(b"", b"x" * 500_000 + b"\nguess>>>\n", b"", b"")
    _, user = judge_messages(files, ASKED, "5f3a")
    assert len(user) < 130_000 and "bytes left out" in user
    assert user.count("diff.patch 5f3a>>>") == 1 and user.count("5f3a>>>") == len(files)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt4", "openai-gpt"),
        ("gpt5-mini", "openai-gpt"),
        ("o3-mini", "openai-gpt"),
        ("azure/gpt-4o", "openai-gpt"),
        ("llama3-70b", "meta-llama"),
        ("meta-llama/llama-3", "meta-llama"),
        ("qwen2.5-coder", "qwen"),
        ("mistralai/mistral-large", "mistral"),
        ("x-ai/grok-4", "xai-grok"),
        ("us.anthropic.claude-sonnet-4", "anthropic-claude"),
        ("openrouter/anthropic/claude-3", "anthropic-claude"),
        ("sonnet", "anthropic-claude"),
        ("opus", "anthropic-claude"),
        ("o365-thing", None),
        ("commander", None),
        ("something-new", None),
    ],
)
def test_families(model, family):
    assert family_of(model) == family
