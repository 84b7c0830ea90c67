"""The sandbox protocol: one command, one fresh sandbox, mounts, limits, a deadline, captured output.

This module knows no backend. What a command may rely on in every backend that isolates:

* it runs as an ordinary user, with no capabilities and no way to gain any;
* the root file system is read-only; ``/tmp`` and ``HOME`` (``/home/agent``) are fresh and writable;
* its environment is what the command gives plus ``PATH``, ``HOME`` and ``LANG``, never the worker's;
* when `Sandbox.run` has returned, no process of the command is alive, however it was started.

Who must own a writable mount: the user of `SandboxInfo.uid`. Handing over the tree is the caller's job.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple, Protocol

from farm.errors import Exit, FarmError
from farm.model.limits import Limits

SANDBOX_UID = 10001
"""User and group of every sandboxed command of a worker that is root. Chown writable trees to it."""

SANDBOX_HOME = "/home/agent"
SANDBOX_PATH = "/usr/local/bin:/usr/bin:/bin"
SANDBOX_LANG = "C.UTF-8"

STOP_POLL = 0.05
"""How often a run looks at its stop event, in seconds."""

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Network = Literal["none", "full"]
Aspect = Literal["filesystem", "network", "memory", "cpus", "pids", "output", "deadline"]


def sandbox_uid() -> int:
    """The user that isolating backends run commands as.

    Only root can give a tree to another user, so the commands of any other worker run as the worker's own
    user, who owns the trees it made.
    """
    return SANDBOX_UID if os.geteuid() == 0 else os.geteuid()


class SandboxError(FarmError):
    """The engine failed, not the command. Infrastructure: the caller retries, it is never a score."""


class Stopped(FarmError):
    """The run was stopped from outside; the sandbox is gone."""

    exit_code = Exit.INTERRUPTED


class Mount(NamedTuple):
    """A directory, file or socket of the host at a place in the sandbox."""

    source: Path
    target: str
    read_only: bool = True


@dataclass(frozen=True)
class Command:
    """What to run and within which bounds."""

    argv: tuple[str, ...]
    mounts: tuple[Mount, ...]
    workdir: str
    env: Mapping[str, str]
    deadline: float
    """Wall-clock seconds that the command itself may take; making the sandbox is not counted."""
    limits: Limits
    image: str | None = None
    """An image of the engine; None is the bundled base image. Backends without images ignore it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Whose it is, for `Sandbox.reap`."""
    network: Network = "none"

    def __post_init__(self) -> None:
        """Refuse what no backend can run; such a command is a bug of the caller."""
        if not self.argv:
            raise ValueError("a command needs at least one word")
        if self.deadline <= 0:
            raise ValueError(f"deadline must be positive, not {self.deadline}")
        for place in (self.workdir, *(mount.target for mount in self.mounts)):
            if not place.startswith("/") or ".." in PurePosixPath(place).parts:
                raise ValueError(f"{place!r} is not an absolute path inside the sandbox")
        for name, value in self.env.items():
            if not _ENV_NAME.fullmatch(name) or "\0" in value:
                raise ValueError(f"{name!r} cannot be an environment variable")


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    exit_code: int | None
    """None when the deadline killed it; 128 + n when signal n did; 127 when the program was not found."""
    timed_out: bool
    oom: bool
    """The memory limit killed a process of the command (perhaps a child: the exit code may be 0)."""
    output: bytes
    """Standard output and error in the order they came, at most `Limits.output` bytes."""
    output_truncated: bool
    seconds: float


@dataclass(frozen=True)
class SandboxInfo:
    """What a backend is and which of the bounds it really enforces here; written into results."""

    name: str
    isolates: bool
    detail: str
    enforces: frozenset[Aspect]
    uid: int
    """The user that must own a writable mount."""


class Sandbox(Protocol):
    """A way of running a command. Safe to share between threads."""

    name: str

    def info(self) -> SandboxInfo:
        """Describe the backend.

        Raises:
            Unreachable: it does not work here; the message says what to do.

        """
        ...

    def run(self, command: Command, stop: threading.Event | None = None) -> Finished:
        """Run a command in a fresh sandbox, which is gone when this returns or raises.

        Raises:
            SandboxError: the engine failed. Says nothing about the command.
            Stopped: `stop` was set before the command ended.

        """
        ...

    def has_image(self, image: str) -> bool:
        """Whether `image` can be used without fetching it."""
        ...

    def prefetch(self, image: str) -> None:
        """Make `image` available: build the bundled one, pull any other."""
        ...

    def reap(self, labels: Mapping[str, str]) -> int:
        """Remove every sandbox that carries all of these labels, alive or not; return how many."""
        ...


class CappedOutput:
    """Collects output up to a cap and notes that more came.

    Past the cap the pump goes on feeding: a command that is not read from would block, and a flood of
    output must neither fill the worker's memory nor change how the command ends.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._data = bytearray()
        self.truncated = False

    def feed(self, chunk: bytes) -> None:
        """Keep what still fits."""
        room = self._cap - len(self._data)
        self._data += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room

    @property
    def data(self) -> bytes:
        """What was kept."""
        return bytes(self._data)
