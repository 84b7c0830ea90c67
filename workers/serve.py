"""A worker host: the dispatcher here, and a Celery worker beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import structlog

from farm.errors import FarmError, Unreachable
from farm.scheduler.redis_ledger import RedisLedger
from farm.store.open import open_store
from workers.app import make_app, queue_name
from workers.child import end
from workers.context import Context
from workers.dispatch import Dispatcher
from workers.tasks import register_tasks

log = structlog.get_logger()
_ALIVE = 30.0
_TICK = 0.5
_EARLY = 10.0
_EARLY_ENDS = 3


def celery_command(slots: int, queues: list[str]) -> list[str]:
    """The command line of the Celery worker process."""
    return [
        *(sys.executable, "-m", "celery", "--quiet", "-A", "workers.celery_main", "worker"),
        *("--pool", "prefork", "--concurrency", str(slots), "--loglevel", "WARNING"),
        *("--queues", ",".join(map(queue_name, queues)), "--hostname", f"{os.getpid()}@%h"),
        # Chatter between workers: of no use here, and a known source of orphaned keys.
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]


def serve(store_url: str, broker: str, slots: int, queues: list[str], stop: threading.Event) -> None:
    """Run a worker host until `stop` is set: dispatch twice a second, keep a Celery worker alive.

    A Celery worker that died is started again; its jobs come back when their leases run out.
    """
    env = {**os.environ, "FARM_STORE": store_url, "FARM_BROKER": broker, "REMAP_SIGTERM": "SIGQUIT"}
    # A worker inside its own container, or on a test machine, is root; jobs never are.
    env["PYTHONWARNINGS"] = "ignore:You're running the worker with superuser"
    context = Context(open_store(store_url), RedisLedger(broker))
    app = make_app(broker)
    register_tasks(app, lambda: context)
    dispatcher = Dispatcher(context, app)
    worker: subprocess.Popen[bytes] | None = None
    started, early_ends = 0.0, 0
    try:
        while not stop.is_set():
            if worker is None or worker.poll() is not None:
                if worker is not None:
                    early_ends = early_ends + 1 if time.monotonic() - started < _EARLY else 0
                    if early_ends >= _EARLY_ENDS:
                        raise Unreachable(f"the Celery worker ends at once (exit code {worker.returncode}); see above")
                    log.warning("celery worker ended, starting another", code=worker.returncode)
                started = time.monotonic()
                worker = subprocess.Popen(
                    celery_command(slots, queues),
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=sys.stderr.fileno(),
                )
            try:
                context.ledger.register(context.worker, slots, time.time(), _ALIVE)
                dispatcher.step()
            except FarmError as error:
                log.warning("dispatch waits", reason=str(error))
            except Exception as error:
                # A broker that is away comes back; nothing is lost meanwhile.
                log.warning("dispatch waits", reason=f"{type(error).__name__}: {error}")
            stop.wait(_TICK)
    finally:
        if worker is not None:
            end(worker, 15)
