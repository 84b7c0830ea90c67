"""A whole run on a store that does not enforce the condition: each job still counts exactly once."""

from __future__ import annotations

import pytest

from farm.inputs.sweep_file import Overrides, load_sweep
from farm.model.store_class import StoreClass
from farm.scheduler.ledger import MemoryLedger
from farm.scheduler.submit import submit
from farm.store.local import LocalStore
from farm.store.pull import pull_run
from farm.verdicts import run_verdict
from workers.context import Context
from workers.job import Ended, run_job


class Heedless(LocalStore):
    """Says that every conditional write has won, and overwrites."""

    def put_new(self, key: str, data: bytes) -> bool:
        self.put(key, data)
        return True


@pytest.fixture
def context(tmp_path):
    (tmp_path / "s.yml").write_text(
        "scenarios: [minimal-config-fix]\ntrials: 2\nvariants:\n"
        "  - {name: baseline, producer: nop}\n  - {name: solved, producer: solution}\n"
    )
    store = Heedless(tmp_path / "store")
    manifest = submit(load_sweep(tmp_path / "s.yml", Overrides(), {}), store)
    assert manifest.store_class is StoreClass.NONE
    return Context(store, MemoryLedger(), tmp_path / "scratch"), manifest


def test_a_duplicate_changes_nothing_and_everything_is_read(context, tmp_path):
    worker, manifest = context
    runs, run_id = worker.runs, manifest.run_id
    worker.ledger.open(run_id, manifest.jobs, [], 1000.0)
    assert [run_job(worker, run_id, index) for index in range(4)] == [Ended.COMMITTED] * 4
    before = runs.results(run_id)
    # Another worker with a lower fence that had not seen the result: it must not replace it.
    late = before[0].model_copy(update={"reason": "late", "attempt": 1})
    assert not runs.commit(late, manifest.store_class, 1)
    # A ledger that lost everything: the store is looked at before any work is done.
    worker.ledger.open(run_id, manifest.jobs, [], 2000.0)
    assert [run_job(worker, run_id, index) for index in range(4)] == [Ended.DUPLICATE] * 4

    assert runs.results(run_id) == before and len(before) == 4
    assert len(list(runs.done(run_id))) == 4
    assert runs.result(run_id, manifest.cell(0)) in before
    (verdict,) = run_verdict(manifest, before).verdicts
    assert (verdict.planned, verdict.used, verdict.wins) == (2, 2, 2)
    assert pull_run(worker.store, run_id, tmp_path / "pulled").transferred > 0
