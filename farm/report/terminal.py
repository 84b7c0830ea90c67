"""Plain-text views: 80 columns, readable without colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from farm.model.manifest import Manifest
from farm.model.result import Result
from farm.model.verdict import Call, RunVerdict, ScenarioVerdict

_MARK = {Call.HELPS: "+", Call.HURTS: "-", Call.INCONCLUSIVE: "~"}

MEANINGS = (
    "HELPS/HURTS: the variant won/lost so consistently that chance explains it in fewer than 1 of 20 cases,",
    "and the median difference matters. INCONCLUSIVE: these trials cannot tell; it does not mean 'no effect'.",
)


def verdict_table(verdict: RunVerdict) -> list[str]:
    """The verdicts of a run, one line each, with what was lost."""
    several = len({v.variant for v in verdict.verdicts}) > 1
    lines = [f"  {'scenario':<28}  {'W':>3} {'T':>3} {'L':>3}  {'median':>7}  {'p':>7}  verdict"]
    for row in verdict.verdicts:
        name = f"{row.scenario} {row.variant}" if several else row.scenario
        lines.append(
            f"{_MARK[row.call]} {_middle(name, 28):<28}  {row.wins:>3} {row.ties:>3} {row.losses:>3}  "
            f"{row.median_delta:>+7.2f}  {row.p_value:>7.4f}  {row.call}"
        )
        if row.explanation:
            lines.append(f"    {row.explanation}")
        if row.used < row.planned:
            lines.append(
                f"    pairs: planned {row.planned} = used {row.used} + lost {row.planned - row.used}{_why(row)}"
            )
    return lines


def _why(row: ScenarioVerdict) -> str:
    parts = [f"{arm.variant} {reason} {count}" for arm in row.lost for reason, count in arm.reasons.items()]
    return f" ({', '.join(parts)})" if parts else ""


def result_rows(results: Sequence[Result]) -> list[str]:
    """One line a result."""
    lines = [f"{'scenario':<28} {'variant':<16} {'trial':>5}  {'score':>6}  {'pass':<4}  outcome"]
    for r in results:
        score = f"{r.score.aggregate:.3f}" if r.score else "-"
        passed = ("yes" if r.score.passed else "no") if r.score else "-"
        why = f"  {r.score.fail_reason}" if r.score and r.score.fail_reason else f"  {r.reason}" if r.reason else ""
        lines.append(
            f"{_middle(r.scenario, 28):<28} {_middle(r.variant, 16):<16} {r.trial:>5}  {score:>6}  {passed:<4}  "
            f"{r.outcome}{why}"
        )
    return lines


def run_line(manifest: Manifest, done: int, results: Sequence[Result] = ()) -> str:
    """A run in one line."""
    states = Counter(str(result.outcome) for result in results)
    detail = ", ".join(f"{name} {count}" for name, count in sorted(states.items()))
    return f"{manifest.run_id}  {manifest.sweep:<20} {done}/{manifest.jobs} jobs" + (f"  ({detail})" if detail else "")


def _middle(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    half = (width - 1) // 2
    return text[: width - 1 - half] + "…" + text[-half:]
