"""The ledger: leases, what was sent, what is done. All of it can be rebuilt from the store.

A lease is fenced: each claim gets a larger number than any before it, also after the ledger was lost,
because numbers begin at the time of the rebuild. A worker whose fence is no longer the owner's stops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import NamedTuple, Protocol

from farm.scheduler.progress import Progress

LOOKAHEAD = 8192
"""How many jobs past the cursor a tick may reach."""


class Refusal(StrEnum):
    """Why a claim is refused: each means that the message can be dropped."""

    DONE = "done"
    LEASED = "leased"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Claim(NamedTuple):
    """The answer to a claim."""

    fence: int
    refusal: Refusal | None


class Ledger(Protocol):
    """Shared state of dispatcher and workers. Times are seconds since the epoch."""

    def open(self, run_id: str, jobs: int, done: Iterable[int], now: float) -> None:
        """Begin or rebuild a run's state."""

    def known(self, run_id: str) -> bool:
        """Whether the ledger has the run; it has not after its memory was lost."""

    def close(self, run_id: str) -> None:
        """Forget a run."""

    def cancel(self, run_id: str) -> None:
        """Refuse further claims and beats of a run."""

    def claim(self, run_id: str, index: int, now: float, ttl: float) -> Claim:
        """Take a job under a lease, unless it is done, leased or cancelled."""

    def beat(self, run_id: str, index: int, fence: int, now: float, ttl: float) -> bool:
        """Extend a lease. False when it is no longer this fence's, or the run is cancelled."""

    def finish(self, run_id: str, index: int, fence: int) -> None:
        """The job has a result."""

    def release(self, run_id: str, index: int, fence: int, retry_at: float) -> None:
        """Give a job back, to be sent again at a time."""

    def sent(self, run_id: str, indices: Iterable[int], cursor: int | None, now: float) -> None:
        """Messages went out, and the cursor moved."""

    def progress(self, run_id: str, now: float) -> Progress:
        """What the tick needs to know."""

    def register(self, worker: str, slots: int, now: float, ttl: float) -> None:
        """A worker is alive with so many slots."""

    def slots(self, now: float) -> int:
        """Slots of all live workers."""

    def lock(self, name: str, owner: str, now: float, ttl: float) -> bool:
        """Take or keep a named lock."""


@dataclass
class _Run:
    jobs: int
    fence: int
    cursor: int = 0
    cancelled: bool = False
    done: set[int] = field(default_factory=set)
    lease: dict[int, float] = field(default_factory=dict)
    owner: dict[int, int] = field(default_factory=dict)
    sent: dict[int, float] = field(default_factory=dict)
    retry: dict[int, float] = field(default_factory=dict)


class MemoryLedger:
    """The ledger inside one process, for embedded runs without a broker."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._runs: dict[str, _Run] = {}
        self._workers: dict[str, tuple[int, float]] = {}
        self._locks: dict[str, tuple[str, float]] = {}

    def open(self, run_id: str, jobs: int, done: Iterable[int], now: float) -> None:
        """Begin or rebuild a run's state."""
        with self._lock:
            self._runs[run_id] = _Run(jobs, int(now * 1000), done=set(done))

    def known(self, run_id: str) -> bool:
        """Whether the run is open."""
        return run_id in self._runs

    def close(self, run_id: str) -> None:
        """Forget a run."""
        with self._lock:
            self._runs.pop(run_id, None)

    def cancel(self, run_id: str) -> None:
        """Refuse further claims and beats."""
        with self._lock:
            if run_id in self._runs:
                self._runs[run_id].cancelled = True

    def claim(self, run_id: str, index: int, now: float, ttl: float) -> Claim:
        """Take a job under a lease."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return Claim(0, Refusal.UNKNOWN)
            if index in run.done:
                run.sent.pop(index, None)
                return Claim(0, Refusal.DONE)
            if run.cancelled:
                return Claim(0, Refusal.CANCELLED)
            if run.lease.get(index, 0) > now:
                return Claim(0, Refusal.LEASED)
            run.fence += 1
            run.lease[index], run.owner[index] = now + ttl, run.fence
            run.sent.pop(index, None)
            run.retry.pop(index, None)
            return Claim(run.fence, None)

    def beat(self, run_id: str, index: int, fence: int, now: float, ttl: float) -> bool:
        """Extend a lease."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None or run.cancelled or run.owner.get(index) != fence:
                return False
            run.lease[index] = now + ttl
            return True

    def finish(self, run_id: str, index: int, fence: int) -> None:
        """The job has a result."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is not None:
                run.done.add(index)
                for table in (run.lease, run.owner, run.sent, run.retry):
                    table.pop(index, None)

    def release(self, run_id: str, index: int, fence: int, retry_at: float) -> None:
        """Give a job back."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is not None and run.owner.get(index) == fence:
                run.owner.pop(index)
                run.lease.pop(index, None)
                run.retry[index] = retry_at

    def sent(self, run_id: str, indices: Iterable[int], cursor: int | None, now: float) -> None:
        """Messages went out."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return
            for index in indices:
                run.sent[index] = now
                run.retry.pop(index, None)
                if run.lease.get(index, now + 1) <= now:
                    run.lease.pop(index)
                    run.owner.pop(index, None)
            if cursor is not None:
                run.cursor = cursor

    def progress(self, run_id: str, now: float) -> Progress:
        """What the tick needs to know."""
        with self._lock:
            run = self._runs[run_id]
            return Progress(
                run.jobs,
                run.cursor,
                len(run.done),
                frozenset(i for i in run.done if run.cursor <= i < run.cursor + LOOKAHEAD),
                dict(run.sent),
                frozenset(i for i, until in run.lease.items() if until > now),
                frozenset(i for i, until in run.lease.items() if until <= now),
                frozenset(i for i, at in run.retry.items() if at <= now),
                len(run.retry),
                run.cancelled,
            )

    def register(self, worker: str, slots: int, now: float, ttl: float) -> None:
        """A worker is alive."""
        with self._lock:
            self._workers[worker] = (slots, now + ttl)

    def slots(self, now: float) -> int:
        """Slots of all live workers."""
        with self._lock:
            return sum(slots for slots, until in self._workers.values() if until > now)

    def lock(self, name: str, owner: str, now: float, ttl: float) -> bool:
        """Take or keep a named lock."""
        with self._lock:
            holder, until = self._locks.get(name, (owner, 0.0))
            if holder != owner and until > now:
                return False
            self._locks[name] = (owner, now + ttl)
            return True
