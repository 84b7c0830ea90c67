"""From a backend's name to a sandbox."""

from __future__ import annotations

from farm.model.sweep import SandboxBackend
from workers.sandbox.base import Sandbox


def open_sandbox(backend: SandboxBackend) -> Sandbox:
    """The sandbox of a backend. Nothing is contacted: ask `Sandbox.info` whether it works."""
    if backend == "docker":
        # Importing the engine's client takes half a second.
        from workers.sandbox.docker import DockerSandbox

        return DockerSandbox()
    from workers.sandbox.process import process_sandbox

    return process_sandbox()
