"""The sandbox protocol. It knows no backend."""

from __future__ import annotations

import selectors
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from farm.errors import FarmError
from farm.model.limits import Limits

SANDBOX_UID = 10001
"""User and group of every sandboxed command; worktrees are handed over to it."""

SANDBOX_PATH = "/usr/local/bin:/usr/bin:/bin"


class Mount(NamedTuple):
    """A host directory inside a sandbox."""

    source: Path
    target: str
    read_only: bool = True


@dataclass(frozen=True)
class Command:
    """One command with all it may see and use."""

    argv: tuple[str, ...]
    mounts: tuple[Mount, ...]
    workdir: str
    env: Mapping[str, str]
    deadline: float
    """Wall-clock bound in seconds."""
    limits: Limits
    image: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    exit_code: int | None
    """None when the deadline killed it."""
    timed_out: bool
    oom: bool
    output: bytes
    """Standard output and error, merged, at most `limits.output` bytes."""
    truncated: bool
    seconds: float


class SandboxError(FarmError):
    """The engine failed, not the command: infrastructure, to be retried, never a score."""


class Stopped(FarmError):
    """The caller asked for the command to be stopped."""


class Sandbox(Protocol):
    """A way to isolate commands."""

    name: str
    isolates: bool

    def run(self, command: Command, stop: threading.Event | None = None) -> Finished:
        """Run a command to its end, its deadline, or `stop`; nothing of it is left afterwards.

        Raises:
            SandboxError: the engine failed.
            Stopped: `stop` was set.
        """

    def missing_image(self, image: str | None) -> str | None:
        """Why an image cannot be used, in words; None when it can, or when images mean nothing here."""


class Drained(NamedTuple):
    """What was read of a command's output."""

    output: bytes
    truncated: bool
    timed_out: bool


def drain(
    stream: IO[bytes], cap: int, deadline: float, stop: threading.Event | None, kill: Callable[[], None]
) -> Drained:
    """Read a stream to its end, keeping `cap` bytes; at the deadline (monotonic) or `stop` call `kill`.

    Past the cap reading goes on and the bytes are dropped, so that the writer is never blocked.

    Raises:
        Stopped: `stop` was set.
    """
    kept = bytearray()
    truncated = timed_out = False
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if stop is not None and stop.is_set():
                kill()
                raise Stopped("stopped on request")
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                timed_out = True
                kill()
                return Drained(bytes(kept), truncated, timed_out)
            if not selector.select(min(remaining, 0.25)):
                continue
            chunk = stream.read1(65536) if hasattr(stream, "read1") else stream.read(65536)
            if not chunk:
                return Drained(bytes(kept), truncated, timed_out)
            room = cap - len(kept)
            kept += chunk[:room]
            truncated = truncated or len(chunk) > room
