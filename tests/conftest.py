"""Engines that tests share. A missing engine skips the test here, and fails it in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.docker import DockerEngine, docker_unavailable_reason
from tests.engines.docker import docker_engine as start_docker


def need(reason: str | None) -> None:
    """Skip for a reason; in CI the same reason is a failure."""
    if reason and os.environ.get("CI"):
        pytest.fail(f"CI must have every engine: {reason}")
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerEngine]:
    """A private Docker engine with the base image; DOCKER_HOST is set while it lives."""
    need(docker_unavailable_reason())
    before = os.environ.get("DOCKER_HOST")
    with start_docker() as engine:
        os.environ["DOCKER_HOST"] = engine.host
        yield engine
        if before is None:
            os.environ.pop("DOCKER_HOST")
        else:
            os.environ["DOCKER_HOST"] = before


@pytest.fixture
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A private Redis on a unix socket, in Celery's form."""
    need(None if shutil.which("redis-server") else "redis-server is not installed")
    path = Path("/tmp") / f"farm-test-{os.getpid()}-{time.monotonic_ns()}.sock"
    server = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no"],
        stdout=subprocess.DEVNULL,
        cwd=tmp_path_factory.mktemp("redis"),
    )
    while not path.exists():
        assert server.poll() is None, "redis-server ended"
        time.sleep(0.01)
    yield f"redis+socket://{path}"
    server.terminate()
    server.wait(10)
    path.unlink(missing_ok=True)
