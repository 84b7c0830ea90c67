"""The dispatcher: a thin loop around the pure tick. It is also the reconciler.

Whatever was lost (messages, leases, the whole of Redis) is seen as a difference between the ledger and
the store, and sent again. Any number of dispatchers may run; a lock lets one of them work.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

import structlog
from celery import Celery

from farm.model.manifest import Manifest
from farm.scheduler.tick import JobRef, RunView, tick
from farm.verdicts import run_verdict
from workers.app import queue_name
from workers.context import Context
from workers.tasks import RUN_JOB

log = structlog.get_logger()
_LOCK_TTL = 10.0


class Dispatcher:
    """Sends jobs, notices finished runs, aggregates them."""

    def __init__(self, context: Context, app: Celery):
        self.context = context
        self.app = app
        self.owner = uuid.uuid4().hex

    def step(self) -> list[str]:
        """One tick. Returns the runs that were found finished.

        Raises:
            Unreachable: the store does not answer; nothing was decided.

        """
        ledger, now = self.context.ledger, time.time()
        if not ledger.lock("dispatch", self.owner, now, _LOCK_TTL):
            return []
        manifests = {run_id: self.context.manifest(run_id) for run_id in self.context.runs.active()}
        views = [self._view(manifest, now) for manifest in manifests.values()]
        queues = {manifest.queue for manifest in manifests.values()}
        decision = tick(views, ledger.slots(now), self._queued(queues), now)
        for run_id, manifest in manifests.items():
            refs = [ref for ref in decision.send if ref.run_id == run_id]
            if refs or run_id in decision.cursors:
                # Noted before it is sent: a crash in between only causes a copy, which a claim drops.
                ledger.sent(run_id, [ref.index for ref in refs], decision.cursors.get(run_id), now)
                self._send(refs, manifest)
        for run_id in decision.finished:
            self.finish(manifests[run_id])
        return list(decision.finished)

    def _view(self, manifest: Manifest, now: float) -> RunView:
        run_id, ledger = manifest.run_id, self.context.ledger
        if not ledger.known(run_id):
            index = manifest.indexer()
            ledger.open(run_id, manifest.jobs, (index(cell) for cell in self.context.runs.done(run_id)), now)
        if self.context.runs.cancelled(run_id):
            ledger.cancel(run_id)
        return RunView(run_id, len(manifest.variants), manifest.seed, manifest.priority, ledger.progress(run_id, now))

    def _queued(self, queues: set[str]) -> int:
        """Messages that the broker holds and no worker has taken."""
        with self.app.connection_or_acquire() as connection:
            channel: Any = connection.default_channel
            return sum(channel._size(queue_name(name)) for name in queues)

    def _send(self, refs: Sequence[JobRef], manifest: Manifest) -> None:
        with self.app.producer_or_acquire() as producer:
            for ref in refs:
                self.app.send_task(
                    RUN_JOB,
                    args=(ref.run_id, ref.index),
                    queue=queue_name(manifest.queue),
                    producer=producer,
                    ignore_result=True,
                )

    def finish(self, manifest: Manifest) -> None:
        """Aggregate a run that has nothing left to do, and forget it."""
        run_id = manifest.run_id
        self.context.runs.put_verdict(run_verdict(manifest, self.context.runs.results(run_id)))
        self.context.runs.deactivate(run_id)
        self.context.ledger.close(run_id)
