"""The Docker backend: one fresh container per command, through the engine's API.

A run is create → attach → start → read → inspect → remove. Each order matters: attaching to a container
that has ended hangs for ever, so the stream is opened before the start; `wait` of the SDK has no usable
timeout, so the deadline is kept here; removal is forced and in a ``finally``.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import structlog

from farm.errors import Unreachable
from workers.sandbox.base import Aspect, Command, Finished, SandboxError, SandboxInfo, Stopped, sandbox_uid
from workers.sandbox.docker_options import DEADLINE_LABEL, FARM_LABEL, create, new_name
from workers.sandbox.docker_run import ContainerRun
from workers.sandbox.images import BASE_IMAGE, build_base_image

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.api import APIClient

log = structlog.get_logger(__name__)

_GONE = (404, 409)
"""Answers to a removal that mean somebody else has removed it, or is doing so."""


class DockerSandbox:
    """Runs commands in containers of the engine that ``DOCKER_HOST`` names."""

    name = "docker"

    def __init__(self, host: str | None = None, timeout: float = 60.0) -> None:
        """Nothing is contacted yet.

        Args:
            host: Address of the engine; by default that of the environment (``DOCKER_HOST``).
            timeout: Bound in seconds of one API call. It does not bound a command.

        """
        self._host = host
        self._timeout = timeout
        self._local = threading.local()

    def info(self) -> SandboxInfo:
        """Ask the engine what it is and what it can enforce."""
        try:
            with engine_errors("ask the engine"):
                facts = self._client().info()
        except SandboxError as error:
            where = self._host or os.environ.get("DOCKER_HOST") or "the default socket"
            raise Unreachable(
                f"no Docker engine answers at {where} ({error}). Start it, set DOCKER_HOST, check that this "
                "user may use the socket, or choose the process sandbox."
            ) from None
        enforces: set[Aspect] = {"filesystem", "network", "output", "deadline"}
        offers: dict[str, Aspect] = {"MemoryLimit": "memory", "CpuCfsQuota": "cpus", "PidsLimit": "pids"}
        enforces |= {aspect for key, aspect in offers.items() if facts.get(key)}
        detail = f"Docker {facts.get('ServerVersion')}, {facts.get('Driver')}, {facts.get('DefaultRuntime')}"
        return SandboxInfo(self.name, True, detail, frozenset(enforces), sandbox_uid())

    def run(self, command: Command, stop: threading.Event | None = None) -> Finished:
        """Run a command in a container of its own."""
        if stop is not None and stop.is_set():
            raise Stopped("stopped before the command was started")
        image = command.image or BASE_IMAGE
        name = new_name()
        with engine_errors(f"run a container of {image}"):
            api = self._client().api
            try:
                create(api, name, image, command)
                return ContainerRun(api, name, command).finish(stop)
            finally:
                # By name, whatever failed: a create whose answer was lost may still have made it.
                remove(api, name)

    def has_image(self, image: str) -> bool:
        """Whether the engine holds the image."""
        from docker.errors import ImageNotFound

        with engine_errors(f"look for the image {image}"):
            try:
                self._client().images.get(image)
            except ImageNotFound:
                return False
            return True

    def prefetch(self, image: str) -> None:
        """Build the bundled image (no registry needed), pull any other that is not there."""
        if self.has_image(image):
            return
        if image == BASE_IMAGE:
            with engine_errors("build the base image"):
                build_base_image(self._client())
        else:
            with engine_errors(f"pull the image {image}"):
                self._client().images.pull(image)

    def reap(self, labels: Mapping[str, str]) -> int:
        """Remove the farm's containers that carry all of these labels."""
        wanted = [f"{FARM_LABEL}=1", *(f"{key}={value}" for key, value in labels.items())]
        return self._reap(wanted, expired_before=None)

    def reap_expired(self, now: float | None = None) -> int:
        """Remove the farm's containers whose deadline has passed: those of workers that died."""
        return self._reap([f"{FARM_LABEL}=1"], expired_before=time.time() if now is None else now)

    def _reap(self, wanted: list[str], expired_before: float | None) -> int:
        with engine_errors("remove left containers"):
            api = self._client().api
            found = api.containers(all=True, filters={"label": wanted})
            return sum(
                remove(api, str(each["Id"]))
                for each in found
                if expired_before is None or _expires(each.get("Labels") or {}) < expired_before
            )

    def _client(self) -> DockerClient:
        """The client of this thread. A fork must not share its parent's connections, hence the pid."""
        import docker

        if getattr(self._local, "pid", None) != os.getpid():
            timeout = int(self._timeout)
            self._local.client = (
                docker.DockerClient(base_url=self._host, timeout=timeout)
                if self._host
                else docker.from_env(timeout=timeout)
            )
            self._local.pid = os.getpid()
        client: DockerClient = self._local.client
        return client


def _expires(labels: Mapping[str, str]) -> float:
    try:
        return float(labels[DEADLINE_LABEL])
    except (KeyError, ValueError):
        return float("inf")


def remove(api: APIClient, container: str) -> bool:
    """Kill and remove a container with its volumes; say whether it was there.

    Never raises for the engine's sake: the result (or the error) of the run matters more, and what stays
    behind carries the labels by which it is reaped.
    """
    import docker.errors
    import requests

    try:
        api.remove_container(container, force=True, v=True)
        return True
    except docker.errors.APIError as error:
        if error.status_code not in _GONE:
            log.warning("container not removed", container=container, error=str(error))
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        log.warning("container not removed", container=container, error=str(error))
    return False


@contextlib.contextmanager
def engine_errors(action: str) -> Iterator[None]:
    """Turn every failure of the engine or of the way to it into a `SandboxError`."""
    import docker.errors
    import requests
    import urllib3

    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise SandboxError(
            f"could not {action}: the engine does not hold the image ({error.explanation}). "
            "Fetch it first, or check its name."
        ) from error
    except docker.errors.APIError as error:
        raise SandboxError(f"could not {action}: {error.explanation or error}") from error
    except (
        docker.errors.DockerException,
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        OSError,
    ) as error:
        raise SandboxError(f"could not {action}: {error}") from error
