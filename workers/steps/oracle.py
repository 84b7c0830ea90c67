"""Oracle: deterministic checks in a clean room that the producer never ran in."""

from __future__ import annotations

import os
import time
from pathlib import Path

from farm.model.oracle import Check, CmdCheck, DiffFilesCheck, DiffStatsCheck, FileContainsCheck
from farm.model.steps import CheckScore, OracleRecord, ProduceRecord
from farm.scoring.checks import (
    axes_of,
    score_cmd,
    score_diff_files,
    score_diff_stats,
    score_file_contains,
    score_file_missing,
)
from farm.scoring.globs import matches
from workers.context import Context, Job, copy_tree
from workers.sandbox.base import Mount
from workers.steps.artifacts import save
from workers.steps.running import run, run_setup
from workers.worktree import apply_change, printable, read_inside

ORACLE_DIR = "/farm/oracle"
_READ_CAP = 16 << 20


def score(context: Context, job: Job, produced: ProduceRecord) -> OracleRecord:
    """Rebuild the tree from the pristine fixture and the stored change, and run every check on it.

    Protected paths stay pristine. Overlay files are not there, so both arms are scored alike.
    """
    started = time.monotonic()
    scenario = job.scenario
    room = job.directory / "clean"
    copy_tree(context.template(scenario, None).tree, room)
    run_setup(job, room)
    change = context.blobs.get_bytes(produced.delta)
    tampered = apply_change(change, room, lambda path: matches(path, scenario.protected))

    checks = []
    for check in scenario.oracle.checks:
        left = scenario.deadlines.oracle - (time.monotonic() - started)
        checks.append(_check(context, job, check, room, produced, left))
    record = OracleRecord(
        axes=axes_of(checks),
        checks=tuple(checks),
        tampered=tuple(map(printable, tampered)),
        seconds=time.monotonic() - started,
    )
    save(context, job, "oracle.json", record.to_bytes())
    return record


def _check(context: Context, job: Job, check: Check, room: Path, produced: ProduceRecord, left: float) -> CheckScore:
    if isinstance(check, CmdCheck):
        if left <= 0:
            return score_cmd(check, None, b"the oracle's deadline had passed")
        mounts: tuple[Mount, ...] = ()
        if job.scenario.oracle_files:
            mounts = (Mount(context.tree(job.scenario.oracle_files), ORACLE_DIR),)
        env = {"FARM_ORACLE": ORACLE_DIR, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
        deadline = min(check.timeout or job.scenario.deadlines.check, left)
        done = run(job, ("sh", "-c", check.cmd), room, mounts, env, deadline)
        return score_cmd(check, done.exit_code, done.output)
    if isinstance(check, DiffStatsCheck):
        return score_diff_stats(check, produced.added_lines, produced.removed_lines, len(produced.touched))
    if isinstance(check, DiffFilesCheck):
        return score_diff_files(check, produced.touched)
    if isinstance(check, FileContainsCheck):
        return score_file_contains(check, read_inside(room, check.path, _READ_CAP))
    return score_file_missing(check, os.path.lexists(room / check.path))
