"""Control groups for process sandboxes: what a worker that is root can enforce without an engine.

Version 1 (a hierarchy per controller) and version 2 (one for all). Where the hierarchy cannot be written,
there is none, and resource limits of single processes have to do.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from functools import cache
from pathlib import Path

from farm.model.limits import Limits
from workers.sandbox.base import SandboxError

_ROOT = Path("/sys/fs/cgroup")
_PARENT = "evalfarm"
_CONTROLLERS = ("memory", "pids", "cpu")
_PERIOD = 100_000
"""Microseconds of one CPU accounting period."""


class Cgroup:
    """The control group of one sandbox: a directory in each hierarchy that is used."""

    def __init__(self, directories: list[Path]) -> None:
        self._directories = directories

    @property
    def joins(self) -> list[str]:
        """The files into which a process writes its own id in order to join."""
        return [str(directory / "cgroup.procs") for directory in self._directories]

    def oom_kills(self) -> bool:
        """Whether the memory limit has killed anything."""
        return any(
            line.split() != ["oom_kill", "0"]
            for directory in self._directories
            for name in ("memory.oom_control", "memory.events")
            if (directory / name).exists()
            for line in (directory / name).read_text().splitlines()
            if line.startswith("oom_kill ")
        )

    def remove(self) -> None:
        """Remove the group, which must have no process any more; the kernel may need a moment to agree."""
        for directory in self._directories:
            for _ in range(50):
                try:
                    directory.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)
                else:
                    break


def create(limits: Limits) -> Cgroup | None:
    """A group with these limits; None where this process may not make any."""
    parents = _parents()
    if not parents:
        return None
    # The worker's pid is in the name, so that what a dead worker left can be told from what is in use.
    name = f"{os.getpid()}-{uuid.uuid4().hex}"
    group = Cgroup([parent / name for parent in parents])
    try:
        for parent in parents:
            (parent / name).mkdir()
            for file, value in _settings(parent / name, limits):
                (parent / name / file).write_text(value)
    except OSError as error:
        group.remove()
        raise SandboxError(f"could not make a control group: {error}") from error
    return group


def _settings(directory: Path, limits: Limits) -> list[tuple[str, str]]:
    quota = str(max(1000, int(limits.cpus * _PERIOD)))
    memory = str(limits.memory)
    wanted = [
        ("memory.limit_in_bytes", memory),
        ("memory.memsw.limit_in_bytes", memory),
        ("cpu.cfs_period_us", str(_PERIOD)),
        ("cpu.cfs_quota_us", quota),
        ("memory.max", memory),
        ("memory.swap.max", "0"),
        ("cpu.max", f"{quota} {_PERIOD}"),
        # Three for bubblewrap itself: its monitor, the namespace's init, the shell that joins.
        ("pids.max", str(limits.pids + 3)),
    ]
    return [(file, value) for file, value in wanted if (directory / file).exists()]


@cache
def _parents() -> tuple[Path, ...]:
    """The farm's directory in each hierarchy; empty when not all controllers can be had."""
    if os.geteuid() != 0:
        return ()
    try:
        unified = _ROOT / "cgroup.controllers"
        if unified.exists():
            if not set(_CONTROLLERS) <= set(unified.read_text().split()):
                return ()
            enable = " ".join(f"+{controller}" for controller in _CONTROLLERS)
            (_ROOT / "cgroup.subtree_control").write_text(enable)
            parents = [_ROOT / _PARENT]
            parents[0].mkdir(exist_ok=True)
            (parents[0] / "cgroup.subtree_control").write_text(enable)
        else:
            parents = [_ROOT / controller / _PARENT for controller in _CONTROLLERS]
            for parent in parents:
                parent.mkdir(exist_ok=True)
        for parent in parents:
            _sweep(parent)
    except OSError:
        return ()
    return tuple(parents)


def _sweep(parent: Path) -> None:
    """Remove the empty groups of workers that are gone; a group with processes refuses to go."""
    for left in parent.glob("*-*"):
        pid = left.name.partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):
                left.rmdir()
