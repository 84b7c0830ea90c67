"""From a backend's name to a sandbox."""

from __future__ import annotations

from functools import cache

from farm.model.sweep import SandboxBackend
from workers.sandbox.base import Sandbox


@cache
def open_sandbox(backend: SandboxBackend) -> Sandbox:
    """The sandbox of this process for a backend. Raises Unreachable when its engine does not answer."""
    if backend == "docker":
        from workers.sandbox.docker import DockerSandbox

        return DockerSandbox()
    from workers.sandbox.process import process_sandbox

    return process_sandbox()
