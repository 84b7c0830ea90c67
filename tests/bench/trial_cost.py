"""What a trial costs over Docker, beside the bare engine in the same run: `make bench`.

A no-op trial on a ten-file scenario with one oracle command needs two containers, so it is held against
two bare ones (create, start, wait, remove) with the same image on the same engine, taken in turn.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

from farm.inputs.sweep_file import Overrides, load_sweep
from farm.scheduler.ledger import MemoryLedger
from farm.scheduler.submit import submit
from farm.store.local import LocalStore
from tests.engines.docker import docker_engine
from workers.context import Context
from workers.job import run_job
from workers.sandbox.images import BASE_IMAGE

ROUNDS = 15


def main() -> None:
    import docker

    with docker_engine() as engine, tempfile.TemporaryDirectory() as directory:
        os.environ["DOCKER_HOST"] = engine.host
        home = Path(directory)
        _write_sweep(home)
        store = LocalStore(home / "store")
        manifest = submit(load_sweep(home / "s.yml", Overrides(), {}), store)
        ledger = MemoryLedger()
        ledger.open(manifest.run_id, manifest.jobs, [], time.time())
        context = Context(store, ledger, home / "scratch")
        client = docker.from_env()
        run_job(context, manifest.run_id, 0)
        trials, bare = [], []
        for index in range(1, ROUNDS + 1):
            trials.append(_timed(lambda index=index: run_job(context, manifest.run_id, index)))
            bare.append(_timed(lambda: [_container(client) for _ in range(2)]))
    ratio = statistics.median(trials) / statistics.median(bare)
    print(f"no-op trial over Docker: median {1000 * statistics.median(trials):.0f} ms")
    print(f"two bare containers:     median {1000 * statistics.median(bare):.0f} ms")
    print(f"ratio: {ratio:.2f} (medians of {ROUNDS}, taken in turn)")


def _write_sweep(home: Path) -> None:
    scenario = home / "small"
    (scenario / "fixture").mkdir(parents=True)
    for number in range(10):
        (scenario / "fixture" / f"f{number}.txt").write_text("x\n" * 50)
    (scenario / "scenario.yml").write_text("id: small\n")
    (scenario / "prompt.md").write_text("nothing\n")
    (scenario / "oracle.yml").write_text("checks: [{id: ok, type: cmd, cmd: 'true', axis: correctness}]\n")
    (home / "s.yml").write_text(
        f"scenarios: [small]\nsandbox: docker\ntrials: {ROUNDS + 1}\nvariants: [{{name: baseline, producer: nop}}]\n"
    )


def _container(client) -> None:
    container = client.api.create_container(BASE_IMAGE, ["true"], host_config={"NetworkMode": "none"})
    client.api.start(container)
    client.api.wait(container)
    client.api.remove_container(container, force=True)


def _timed(work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
