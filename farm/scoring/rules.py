"""The rubric's rules: aggregate, categories, vetoes, pass."""

from __future__ import annotations

from collections.abc import Iterable

from farm.model.judge import JudgeAxis
from farm.model.result import AxisResult, Score
from farm.model.rubric import Rubric
from farm.model.scalars import LifecycleType
from farm.model.steps import AxisScore


def score_trial(
    rubric: Rubric,
    lifecycle: LifecycleType,
    hard: Iterable[AxisScore],
    soft: Iterable[JudgeAxis],
    asked: Iterable[str],
) -> Score:
    """Join the oracle's and the judge's axes into one score.

    An axis asked of the judge that it did not answer, or answered with confidence 0, is `na`.

    aggregate = sum(w * score) / sum(w) over observed axes, rounded to 4 decimals, 0 if none is observed.
    pass = something observed, aggregate >= threshold, no observed axis at 0, no observed veto axis below 1.
    fail_reason names the first of: nothing observed, veto axes, zero axes, aggregate below the threshold.
    """
    spec = rubric.types[lifecycle]
    known = spec.axes()

    def result(name: str, **fields: object) -> AxisResult:
        axis = known[name]
        place = {"name": name, "category": spec.category_of(name), "weight": axis.weight, "veto": axis.veto}
        return AxisResult.model_validate({**place, **fields})

    axes = []
    for scored in hard:
        # A failing check without a code of its own gets the axis's first one, so custom axes fail too.
        issue = None if scored.score >= 1 else scored.code or known[scored.axis].codes[0]
        observed_by = {"confidence": 1.0, "source": "oracle", "evidence": scored.evidence}
        axes.append(result(scored.axis, score=scored.score, issue=issue, **observed_by))
    answers = {answer.name: answer for answer in soft}
    for name in asked:
        answer = answers.get(name)
        if answer is None or answer.confidence == 0:
            axes.append(result(name, score=0.0, confidence=0.0, source="judge"))
        else:
            said = {"confidence": answer.confidence, "issue": answer.code, "evidence": answer.evidence or ""}
            axes.append(result(name, score=answer.score, source="judge", **said))

    observed = [axis for axis in axes if axis.confidence > 0]
    aggregate = _mean(observed)
    categories = dict.fromkeys(axis.category for axis in observed)
    reason = _fail_reason(observed, aggregate, rubric.pass_threshold)
    return Score(
        axes=tuple(axes),
        aggregate=aggregate,
        category_scores={name: _mean([a for a in observed if a.category == name]) for name in categories},
        passed=reason is None,
        fail_reason=reason,
    )


def _mean(axes: list[AxisResult]) -> float:
    weight = sum(axis.weight for axis in axes)
    return round(sum(axis.weight * axis.score for axis in axes) / weight, 4) if weight else 0.0


def _fail_reason(observed: list[AxisResult], aggregate: float, threshold: float) -> str | None:
    if not observed:
        return "no observed axes"
    vetoed = [axis.name for axis in observed if axis.veto and axis.score < 1]
    if vetoed:
        return f"veto: {', '.join(vetoed)}"
    zero = [axis.name for axis in observed if axis.score == 0]
    if zero:
        return f"zero score: {', '.join(zero)}"
    if aggregate < threshold:
        return f"aggregate {aggregate:g} below {threshold:g}"
    return None
