"""Runs in the store: manifests, results, verdicts, requests."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from farm.errors import NotFound, RecordError
from farm.model.manifest import Cell, Manifest
from farm.model.result import Result
from farm.model.store_class import StoreClass
from farm.model.verdict import RunVerdict
from farm.store.base import KeyMissing, Store
from farm.store.commit import CommitOutcome, commit_once, committed, is_committed, read_committed
from farm.store.keys import ACTIVE, RUNS, RunKeys, active_key


class Runs:
    """Reads and writes of run records, typed."""

    def __init__(self, store: Store):
        self.store = store

    def create(self, manifest: Manifest) -> None:
        """Write a manifest and mark its run active. A run id is used once."""
        keys = RunKeys(manifest.run_id)
        if not self.store.put_new(keys.manifest, manifest.to_bytes()):
            raise RecordError(f"run {manifest.run_id} exists already")
        self.store.put(active_key(manifest.run_id), b"")

    def manifest(self, run_id: str) -> Manifest:
        """The manifest of a run. Raises NotFound."""
        key = RunKeys(run_id).manifest
        try:
            return Manifest.from_bytes(self.store.get(key), key)
        except (KeyMissing, ValueError):
            raise NotFound(f"no run {run_id!r} in {self.store.url}; `farm status` lists runs") from None

    def ids(self) -> list[str]:
        """All runs, oldest first."""
        return self.store.children(RUNS)

    def active(self) -> list[str]:
        """Runs that still have work."""
        return self.store.children(ACTIVE)

    def activate(self, run_id: str) -> None:
        """Let the dispatcher work on a run (again)."""
        self.store.delete(RunKeys(run_id).cancel)
        self.store.put(active_key(run_id), b"")

    def deactivate(self, run_id: str) -> None:
        """The run has no more work."""
        self.store.delete(active_key(run_id))

    def cancel(self, run_id: str) -> None:
        """Ask for a run to stop."""
        self.store.put(RunKeys(run_id).cancel, b"")

    def cancelled(self, run_id: str) -> bool:
        """Whether a stop was asked for."""
        return self.store.head(RunKeys(run_id).cancel) is not None

    def done(self, run_id: str) -> Iterator[Cell]:
        """The cells that have a committed result, from a listing alone."""
        keys = RunKeys(run_id)
        for key, _ in committed(self.store, keys.results):
            yield keys.cell_of_result(key)

    def has_result(self, run_id: str, cell: Cell) -> bool:
        """Whether a job is committed."""
        return is_committed(self.store, RunKeys(run_id).result(cell))

    def commit(self, result: Result, store_class: StoreClass, fence: int) -> bool:
        """Commit a result, first writer wins. Returns whether this one was seen to win."""
        key = RunKeys(result.run_id).result(Cell(result.scenario, result.variant, result.trial))
        return commit_once(self.store, store_class, key, fence, result.to_bytes()) is CommitOutcome.WON

    def result(self, run_id: str, cell: Cell) -> Result:
        """The committed result of a job. Raises KeyMissing."""
        key = RunKeys(run_id).result(cell)
        return Result.from_bytes(read_committed(self.store, key), key)

    def results(self, run_id: str) -> list[Result]:
        """Every committed result, in order of key."""
        keys = [info.key for _, info in committed(self.store, RunKeys(run_id).results)]
        with ThreadPoolExecutor(16) as pool:
            return [
                Result.from_bytes(data, key) for key, data in zip(keys, pool.map(self.store.get, keys), strict=True)
            ]

    def put_verdict(self, verdict: RunVerdict) -> None:
        """Write the derived verdict."""
        self.store.put(RunKeys(verdict.run_id).verdict, verdict.to_bytes())
