"""What each oracle check makes of what the worker observed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from farm.model.oracle import (
    BaseCheck,
    CmdCheck,
    DiffFilesCheck,
    DiffStatsCheck,
    FileContainsCheck,
    FileMissingCheck,
)
from farm.model.steps import AxisScore, CheckScore
from farm.scoring.globs import matches

_EVIDENCE = 300


def score_cmd(check: CmdCheck, exit_code: int | None, output: bytes) -> CheckScore:
    """1 when the exit code is as wanted. No exit code (deadline) fails whatever was expected."""
    wanted = exit_code is not None and (exit_code == 0) == (check.expect == "exit_zero")
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    ended = "timeout" if exit_code is None else f"exit={exit_code}"
    return _score(check, wanted, " | ".join([ended, *lines[-3:]]))


def score_diff_stats(check: DiffStatsCheck, added: int, removed: int, files: int) -> CheckScore:
    """1 within all bounds, else 0.5: too much is a blemish, not a failure."""
    over = [
        f"{word} {value} > {bound}"
        for word, value, bound in (
            ("added", added, check.max_added_lines),
            ("removed", removed, check.max_removed_lines),
            ("files", files, check.max_files),
        )
        if bound is not None and value > bound
    ]
    return _score(check, not over, ", ".join(over), failing=0.5)


def score_diff_files(check: DiffFilesCheck, touched: Iterable[str]) -> CheckScore:
    """1 when every touched path is allowed and none is forbidden. Removed and renamed paths are touched."""
    paths = sorted(touched)
    stray = [] if check.allowed is None else [p for p in paths if not matches(p, check.allowed)]
    forbidden = [p for p in paths if matches(p, check.forbidden)]
    parts = []
    if stray:
        parts.append("not allowed: " + ", ".join(stray[:5]))
    if forbidden:
        parts.append("forbidden: " + ", ".join(forbidden[:5]))
    return _score(check, not parts, "; ".join(parts))


def score_file_contains(check: FileContainsCheck, content: bytes | None) -> CheckScore:
    """1 when the file exists and the pattern is found anywhere in it."""
    if content is None:
        return _score(check, False, f"{check.path} is missing")
    found = re.search(check.pattern, content.decode(errors="replace")) is not None
    return _score(check, found, f"{check.path} does not match {check.pattern!r}")


def score_file_missing(check: FileMissingCheck, exists: bool) -> CheckScore:
    """1 when the path does not exist."""
    return _score(check, not exists, f"{check.path} exists")


def _score(check: BaseCheck, passed: bool, evidence: str, failing: float = 0.0) -> CheckScore:
    text = "" if passed else evidence[:_EVIDENCE]
    return CheckScore(id=check.id, axis=check.axis, score=1.0 if passed else failing, evidence=text, code=check.code)


def axes_of(checks: Sequence[CheckScore]) -> tuple[AxisScore, ...]:
    """The score of an axis is the minimum over its checks; the worst check's code stands for it."""
    axes: dict[str, list[CheckScore]] = {}
    for check in checks:
        axes.setdefault(check.axis, []).append(check)
    scores = []
    for axis, group in axes.items():
        failing = [check for check in group if check.score < 1]
        worst = min(group, key=lambda check: check.score)
        evidence = "; ".join(f"{check.id}: {check.evidence}" for check in failing)
        scores.append(AxisScore(axis=axis, score=worst.score, evidence=evidence, code=worst.code))
    return tuple(scores)
