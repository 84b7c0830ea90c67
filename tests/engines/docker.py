"""A private Docker engine for tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def unavailable() -> str | None:
    """Why no engine can be started here."""
    if not shutil.which("dockerd"):
        return "dockerd is not installed (apt-get install docker.io)"
    return None if os.geteuid() == 0 else "dockerd needs root"


@contextmanager
def docker_engine() -> Iterator[str]:
    """Start dockerd in a directory of its own, build the base image, yield DOCKER_HOST."""
    import docker

    from workers.sandbox.images import build_base_image

    home = Path(tempfile.mkdtemp(prefix="fd-"))
    host = f"unix://{home}/docker.sock"
    log = (home / "log").open("wb")
    daemon = subprocess.Popen(
        ["dockerd", "--bridge=none", "--iptables=false", "--ip6tables=false", "--data-root", home / "data",
         "--exec-root", home / "exec", "--pidfile", home / "pid", "-H", host],
        stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
    )
    try:
        for _ in range(600):
            if (home / "docker.sock").exists():
                try:
                    client = docker.DockerClient(base_url=host, timeout=60)
                    client.ping()
                    break
                except docker.errors.DockerException:
                    pass
            if daemon.poll() is not None:
                raise RuntimeError(f"dockerd ended: {(home / 'log').read_text()[-2000:]}")
            time.sleep(0.05)
        else:
            raise RuntimeError("dockerd did not answer")
        build_base_image(client)
        yield host
        for container in client.containers.list(all=True):
            container.remove(force=True)
        client.close()
    finally:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        log.close()
        subprocess.run(["umount", "-q", home / "data"], check=False)
        shutil.rmtree(home, ignore_errors=True)
