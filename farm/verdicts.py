"""From the results of a run to verdicts: pairs, their test, and what was lost. Pure.

Rule `seed`: HELPS when p < alpha and the median delta exceeds `min_effect`; HURTS mirrored; else
INCONCLUSIVE with a reason. Deltas are integers (ten-thousandths), so no verdict hangs on rounding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from farm.model.manifest import Cell, Manifest
from farm.model.result import Result
from farm.model.sweep import Statistics
from farm.model.verdict import Call, Lost, Reason, RunVerdict, ScenarioVerdict
from farm.stats.sign import pairs_needed, smallest_two_sided_p, twice_median, two_sided_p

_SCALE = 10_000

NOT_RUN = "not_run"
"""Reason of a trial that has no result at all."""


def run_verdict(manifest: Manifest, results: Iterable[Result]) -> RunVerdict:
    """Verdicts of every variant against the baseline, per scenario. Order of `results` does not matter."""
    by_cell = {Cell(r.scenario, r.variant, r.trial): r for r in results}
    lost = Counter(str(r.outcome) for r in by_cell.values() if r.score is None)
    missing = manifest.jobs - len(by_cell)
    if missing:
        lost[NOT_RUN] = missing
    return RunVerdict(
        run_id=manifest.run_id,
        baseline=manifest.baseline,
        rule=manifest.statistics.rule,
        planned_jobs=manifest.jobs,
        results=len(by_cell),
        lost_jobs=dict(sorted(lost.items())),
        verdicts=tuple(
            _scenario_verdict(manifest, scenario.id, variant.name, by_cell)
            for scenario in manifest.scenarios
            for variant in manifest.variants
            if variant.name != manifest.baseline
        ),
    )


def _scenario_verdict(manifest: Manifest, scenario: str, variant: str, by_cell: dict[Cell, Result]) -> ScenarioVerdict:
    deltas: list[int | None] = []
    passes, baseline_passes = [], []
    lost: dict[str, Counter[str]] = {variant: Counter(), manifest.baseline: Counter()}
    for trial in range(manifest.trials):
        scores = []
        for arm in (variant, manifest.baseline):
            result = by_cell.get(Cell(scenario, arm, trial))
            if result is None or result.score is None:
                lost[arm][NOT_RUN if result is None else str(result.outcome)] += 1
            else:
                scores.append(result.score)
        if len(scores) == 2:
            deltas.append(round(_SCALE * (scores[0].aggregate - scores[1].aggregate)))
            passes.append(scores[0].passed)
            baseline_passes.append(scores[1].passed)
        else:
            deltas.append(None)
    used = [delta for delta in deltas if delta is not None]
    call, reason = decide(used, manifest.statistics)
    wins, losses = sum(d > 0 for d in used), sum(d < 0 for d in used)
    return ScenarioVerdict(
        scenario=scenario,
        variant=variant,
        call=call,
        reason=reason,
        explanation=_explain(reason, wins + losses, len(used), manifest.statistics),
        planned=manifest.trials,
        used=len(used),
        wins=wins,
        losses=losses,
        ties=len(used) - wins - losses,
        p_value=float(two_sided_p(wins, losses)),
        smallest_p=float(smallest_two_sided_p(wins + losses)),
        median_delta=twice_median(used) / (2 * _SCALE) if used else 0.0,
        mean_delta=round(sum(used) / len(used) / _SCALE, 4) if used else 0.0,
        pass_rate=round(sum(passes) / len(used), 4) if used else 0.0,
        baseline_pass_rate=round(sum(baseline_passes) / len(used), 4) if used else 0.0,
        lost=tuple(Lost(variant=arm, reasons=dict(counts)) for arm, counts in lost.items() if counts),
        deltas=tuple(None if d is None else d / _SCALE for d in deltas),
    )


def decide(deltas: list[int], statistics: Statistics) -> tuple[Call, Reason]:
    """The rule itself, over deltas in ten-thousandths."""
    alpha = Fraction(str(statistics.alpha))
    effect = 2 * round(_SCALE * statistics.min_effect)
    wins, losses = sum(d > 0 for d in deltas), sum(d < 0 for d in deltas)
    decided = wins + losses
    if len(deltas) < 3:
        return Call.INCONCLUSIVE, Reason.N_LT_3
    if decided == 0:
        return Call.INCONCLUSIVE, Reason.ALL_TIES
    if smallest_two_sided_p(decided) >= alpha:
        return Call.INCONCLUSIVE, Reason.UNATTAINABLE
    if two_sided_p(wins, losses) >= alpha:
        return Call.INCONCLUSIVE, Reason.P_GE_ALPHA
    median = twice_median(deltas)
    if abs(median) == effect:
        return Call.INCONCLUSIVE, Reason.EFFECT_AT_BOUNDARY
    if median > effect:
        return Call.HELPS, Reason.OK
    if median < -effect:
        return Call.HURTS, Reason.OK
    if median == 0 and 2 * (len(deltas) - decided) >= len(deltas):
        return Call.INCONCLUSIVE, Reason.TIE_MAJORITY
    return Call.INCONCLUSIVE, Reason.EFFECT_LT_MIN


def _explain(reason: Reason, decided: int, used: int, statistics: Statistics) -> str:
    needed = pairs_needed(statistics.alpha)
    return {
        Reason.OK: "",
        Reason.N_LT_3: f"only {used} complete pairs",
        Reason.ALL_TIES: "every pair is a tie",
        Reason.UNATTAINABLE: f"{decided} decided pairs cannot reach p < {statistics.alpha:g}; {needed} are needed",
        Reason.P_GE_ALPHA: f"p is not below {statistics.alpha:g}",
        Reason.EFFECT_AT_BOUNDARY: f"the median is exactly the smallest effect {statistics.min_effect:g}",
        Reason.EFFECT_LT_MIN: f"the median is within {statistics.min_effect:g} of zero",
        Reason.TIE_MAJORITY: "at least half of the pairs are ties",
    }[reason]
