"""A job that cannot be carried out: tried again, then committed as lost, and counted as such."""

from __future__ import annotations

import pytest

from farm.inputs.sweep_file import Overrides, load_sweep
from farm.model.manifest import Cell
from farm.scheduler.ledger import MemoryLedger
from farm.scheduler.submit import submit
from farm.store.keys import RunKeys
from farm.store.local import LocalStore
from farm.verdicts import run_verdict
from workers import job as jobs
from workers.context import Context
from workers.job import Ended, run_job


@pytest.fixture
def broken(tmp_path):
    scenario = tmp_path / "broken"
    (scenario / "fixture").mkdir(parents=True)
    (scenario / "fixture" / "a").write_text("a")
    (scenario / "scenario.yml").write_text("id: broken\nsetup: echo no such thing; exit 3\n")
    (scenario / "prompt.md").write_text("x\n")
    (tmp_path / "s.yml").write_text(
        "scenarios: [broken]\ntrials: 1\nmax_attempts: 3\nvariants:\n"
        "  - {name: baseline, producer: nop}\n  - {name: other, producer: nop}\n"
    )
    store = LocalStore(tmp_path / "store")
    manifest = submit(load_sweep(tmp_path / "s.yml", Overrides(), {}), store)
    context = Context(store, MemoryLedger(), tmp_path / "scratch")
    context.ledger.open(manifest.run_id, manifest.jobs, [], 1000.0)
    return context, manifest


def test_attempts_are_counted_waited_between_and_end_in_a_lost_result(broken, monkeypatch):
    context, manifest = broken
    run_id, cell = manifest.run_id, manifest.cell(0)
    monkeypatch.setattr(jobs.time, "time", lambda: 1000.0)
    ends, waits = [], []
    for _ in range(3):
        ends.append(run_job(context, run_id, 0))
        far = context.ledger.progress(run_id, 1e9).due
        waits += [next(s for s in range(99) if context.ledger.progress(run_id, 1000.0 + s).due)] if far else []
    assert ends == [Ended.RETRY, Ended.RETRY, Ended.COMMITTED]
    assert waits == [4, 8]  # 2 s doubled for each attempt made

    result = context.runs.result(run_id, cell)
    assert (result.outcome, result.score, result.attempts) == ("oracle_error", None, 3)
    assert result.reason == "setup ended with 3: no such thing"
    first = sorted(context.store.children(RunKeys(run_id).job(Cell(*cell))))[0]
    assert result.steps == {"failure": RunKeys(run_id).attempt_file(cell, int(first), "failure.json")}
    (verdict,) = run_verdict(manifest, [result]).verdicts
    assert (verdict.planned, verdict.used) == (1, 0)
    assert {lost.variant: lost.reasons for lost in verdict.lost} == {
        cell.variant: {"oracle_error": 1},
        ({"baseline", "other"} - {cell.variant}).pop(): {"not_run": 1},
    }
