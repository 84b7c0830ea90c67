"""A Docker engine of our own: started, filled with the base image, and taken down without a trace."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_START = 30.0
_STOP = 20.0


class EngineUnavailable(RuntimeError):
    """No engine can be started here; the message says why."""


@dataclass(frozen=True)
class DockerEngine:
    """Where a private engine listens."""

    host: str
    env: dict[str, str] = field(default_factory=dict)


def docker_unavailable_reason() -> str | None:
    """Why no private engine can be started on this host; None when one can."""
    missing = [name for name in ("dockerd", "containerd", "runc", "docker-init") if not shutil.which(name)]
    if missing:
        return f"not installed: {', '.join(missing)} (apt-get install docker.io tini)"
    return None if os.geteuid() == 0 else "a private Docker daemon needs root"


@contextlib.contextmanager
def docker_engine(*, base_image: bool = True) -> Iterator[DockerEngine]:
    """Run a private daemon with its own containerd for the length of a block.

    Raises:
        EngineUnavailable: no daemon binary, not root, or the daemon does not come up.
    """
    reason = docker_unavailable_reason()
    if reason:
        raise EngineUnavailable(reason)
    # Directly under /tmp: socket paths may have 107 characters only.
    home = Path(tempfile.mkdtemp(prefix="ef-", dir="/tmp"))
    with contextlib.ExitStack() as stack:
        stack.callback(_delete, home)
        stack.enter_context(_containerd(home))
        host = f"unix://{home}/docker.sock"
        stack.enter_context(_dockerd(home, host))
        stack.callback(_remove_containers, host)
        if base_image:
            _build(host)
        yield DockerEngine(host, {"DOCKER_HOST": host})


@contextlib.contextmanager
def _containerd(home: Path) -> Iterator[None]:
    """Our own, so that a system containerd is neither found nor used, and its pid is known."""
    config = home / "containerd.toml"
    config.write_text('version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n')
    words = ["containerd", "--config", str(config), "--address", f"{home}/containerd.sock"]
    words += ["--root", f"{home}/ctr-root", "--state", f"{home}/ctr-state"]
    with _daemon(words, home / "containerd.log") as process:
        _until(process, home / "containerd.log", (home / "containerd.sock").exists)
        yield


@contextlib.contextmanager
def _dockerd(home: Path, host: str) -> Iterator[None]:
    words = ["dockerd", "--bridge=none", "--iptables=false", "--ip6tables=false"]
    words += ["--data-root", f"{home}/data", "--exec-root", f"{home}/exec", "--pidfile", f"{home}/pid"]
    words += ["--config-file", f"{home}/none.json", "--containerd", f"{home}/containerd.sock", "-H", host]
    (home / "none.json").write_text("{}")
    with _daemon(words, home / "log") as process:
        _until(process, home / "log", lambda: _answers(host))
        yield


@contextlib.contextmanager
def _daemon(words: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _until(process: subprocess.Popen[bytes], log: Path, ready: Callable[[], bool]) -> None:
    end = time.monotonic() + _START
    while not ready():
        if process.poll() is not None or time.monotonic() > end:
            raise EngineUnavailable(f"{process.args!r} did not come up:\n{log.read_text()[-2000:]}")
        time.sleep(0.02)


def _answers(host: str) -> bool:
    import docker
    import docker.errors

    try:
        with contextlib.closing(docker.DockerClient(base_url=host, timeout=5)) as client:
            return bool(client.ping())
    except docker.errors.DockerException:
        return False


def _build(host: str) -> None:
    import docker

    from workers.sandbox.images import build_base_image

    with contextlib.closing(docker.DockerClient(base_url=host, timeout=120)) as client:
        build_base_image(client)


def _remove_containers(host: str) -> None:
    """First of all: a daemon that is stopped waits for each container in turn."""
    import docker
    import docker.errors

    try:
        with contextlib.closing(docker.DockerClient(base_url=host, timeout=30)) as client:
            for each in client.api.containers(all=True):
                client.api.remove_container(each["Id"], force=True, v=True)
    except docker.errors.DockerException:
        return  # the daemon is dying or dead: the data root goes anyway


def _delete(home: Path) -> None:
    """Unmount what is mounted below (the data root mounts itself), innermost first, then delete."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in sorted((each for each in mounts if each.startswith(f"{home}/")), reverse=True):
        subprocess.run(["umount", "-l", mount], check=False, capture_output=True)
    shutil.rmtree(home, ignore_errors=True)
