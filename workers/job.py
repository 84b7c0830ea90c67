"""One job: claim it, walk the steps whose record is missing, commit the result once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

import structlog

from farm.errors import FarmError
from farm.model.base import Record
from farm.model.manifest import Cell
from farm.model.result import Result, Score
from farm.model.steps import JudgeRecord, OracleRecord, Outcome, ProduceRecord
from farm.scoring.rules import score_trial
from farm.store.keys import RunKeys
from workers.context import Context, Job, StepFailed
from workers.sandbox.base import Stopped
from workers.steps import judge, oracle, produce
from workers.steps.artifacts import attempt_key, save
from workers.steps.running import backend_name
from workers.worktree import discard

LEASE = 60.0
"""Seconds a lease lives without a beat."""
BEAT = 15.0
_RETRY_BASE = 2.0

R = TypeVar("R", bound=Record)
log = structlog.get_logger()


class Ended(StrEnum):
    """What became of a message."""

    COMMITTED = "committed"
    DUPLICATE = "duplicate"
    REFUSED = "refused"
    RETRY = "retry"
    STOPPED = "stopped"


def run_job(context: Context, run_id: str, index: int) -> Ended:
    """Execute a job if it is free. Any number of duplicate calls gives one result."""
    claim = context.ledger.claim(run_id, index, time.time(), LEASE)
    if claim.refusal is not None:
        return Ended.REFUSED
    manifest = context.manifest(run_id)
    cell = manifest.cell(index)
    if context.runs.has_result(run_id, cell):
        # The ledger was rebuilt from an older listing: the store is the truth.
        context.ledger.finish(run_id, index, claim.fence)
        return Ended.DUPLICATE
    with _beating(context, run_id, index, claim.fence) as stop:
        directory = context.trial_directory(f"{index}")
        scenario = manifest.scenario(cell.scenario)
        job = Job(manifest, scenario, cell.variant, cell.trial, claim.fence, directory, stop)
        try:
            steps = _Steps(context, job, cell)
            result = _attempt(steps)
        except Stopped:
            return Ended.STOPPED
        finally:
            discard(directory)
    if result is None:
        retry_at = time.time() + _RETRY_BASE * 2 ** len(steps.attempts)
        context.ledger.release(run_id, index, claim.fence, retry_at)
        return Ended.RETRY
    won = context.runs.commit(result, manifest.store_class, claim.fence)
    context.ledger.finish(run_id, index, claim.fence)
    return Ended.COMMITTED if won else Ended.DUPLICATE


@contextmanager
def _beating(context: Context, run_id: str, index: int, fence: int) -> Iterator[threading.Event]:
    """Keep a lease alive from a thread; the event is set when it is lost or the run is cancelled."""
    stop, over = threading.Event(), threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            try:
                alive = context.ledger.beat(run_id, index, fence, time.time(), LEASE)
            except Exception:
                # The broker is away: the work is paid for, and the commit is safe without it.
                log.warning("beat failed", run=run_id, job=index)
                continue
            if not alive:
                stop.set()
                return

    thread = threading.Thread(target=beat, daemon=True, name=f"beat-{index}")
    thread.start()
    try:
        yield stop
    finally:
        over.set()


def _attempt(steps: _Steps) -> Result | None:
    """Walk the steps. None when infrastructure failed and another attempt is allowed."""
    context, job = steps.context, steps.job
    try:
        produced = steps.get(ProduceRecord, "produce.json", lambda: produce.produce(context, job))
        scored = steps.get(OracleRecord, "oracle.json", lambda: oracle.score(context, job, produced))
        judged = steps.get_optional(JudgeRecord, "judge.json", lambda: judge.judge(context, job, produced, scored))
    except Stopped:
        raise
    except StepFailed as error:
        return _failed(steps, Outcome(error.outcome), str(error))
    except (FarmError, OSError) as error:
        return _failed(steps, Outcome.INFRA_ERROR, str(error))
    except Exception as error:
        # An unknown error is infrastructure and never a score.
        log.exception("job failed", run=job.manifest.run_id, cell=steps.cell)
        return _failed(steps, Outcome.INFRA_ERROR, f"{type(error).__name__}: {error}")
    answers = judged.axes if judged else ()
    total = score_trial(job.manifest.rubric, job.scenario.type, scored.axes, answers, job.scenario.judge_axes)
    seconds = {**produced.seconds, "oracle": scored.seconds, "judge": judged.seconds if judged else 0.0}
    return _result(steps, produced.outcome, produced.reason, total, seconds, produced, scored, judged)


class _Steps:
    """The records of a job's steps, from this or an earlier attempt."""

    def __init__(self, context: Context, job: Job, cell: Cell):
        self.context = context
        self.job = job
        self.cell = cell
        prefix = RunKeys(job.manifest.run_id).job(cell)
        self.found: dict[str, str] = {}
        self.attempts = {f"{job.attempt:016d}"}
        for info in context.store.list(prefix):
            attempt, _, name = info.key.removeprefix(prefix).partition("/")
            self.attempts.add(attempt)
            self.found.setdefault(name, info.key)

    def get(self, kind: type[R], name: str, compute: Callable[[], R]) -> R:
        """A finished record is never computed again."""
        record = self.get_optional(kind, name, compute)
        assert record is not None
        return record

    def get_optional(self, kind: type[R], name: str, compute: Callable[[], R | None]) -> R | None:
        if name in self.found:
            return kind.from_bytes(self.context.store.get(self.found[name]), self.found[name])
        record = compute()
        if record is not None:
            self.left(name)
        return record

    def left(self, name: str) -> None:
        """Note a file that this attempt has left; an earlier attempt's of that name goes before it."""
        self.found.setdefault(name, attempt_key(self.job, name))


def _failed(steps: _Steps, outcome: Outcome, reason: str) -> Result | None:
    job = steps.job
    log.warning("attempt failed", run=job.manifest.run_id, cell="/".join(map(str, steps.cell)), reason=reason)
    save(steps.context, job, "failure.json", json.dumps({"outcome": outcome, "reason": reason}).encode())
    steps.left("failure.json")
    if len(steps.attempts) < job.manifest.max_attempts:
        return None
    return _result(steps, outcome, reason, None, {}, None, None, None)


def _result(
    steps: _Steps,
    outcome: Outcome,
    reason: str,
    total: Score | None,
    seconds: dict[str, float],
    produced: ProduceRecord | None,
    scored: OracleRecord | None,
    judged: JudgeRecord | None,
) -> Result:
    job, cell = steps.job, steps.cell
    manifest = job.manifest
    variant = manifest.variant(cell.variant)
    return Result(
        run_id=manifest.run_id,
        scenario=cell.scenario,
        type=job.scenario.type,
        variant=cell.variant,
        trial=cell.trial,
        outcome=outcome,
        reason=reason,
        score=total,
        attempt=job.attempt,
        attempts=len(steps.attempts),
        producer_model=variant.model,
        producer_family=variant.family,
        judge_model=manifest.judge.model if manifest.judge else None,
        judge_family=manifest.judge.family if manifest.judge else None,
        allow_same_family=manifest.allow_same_family,
        judge_missing=judged.reason if judged else "",
        tampered=scored.tampered if scored else (),
        backend=produced.backend if produced else backend_name(manifest),
        delta=produced.delta if produced else None,
        diff=produced.diff.digest if produced else None,
        steps={name.removesuffix(".json"): key for name, key in steps.found.items() if name.endswith(".json")},
        worker=steps.context.worker,
        committed_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        seconds=seconds,
    )
