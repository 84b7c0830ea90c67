"""What process sandboxes take from the host: the search path, an interpreter, limits of one process."""

from __future__ import annotations

import shutil
import sys
from functools import cache
from pathlib import Path

from farm.model.limits import Limits
from workers.sandbox.base import SANDBOX_PATH


@cache
def python_prefix() -> Path | None:
    """The interpreter's own tree, when the system directories hold no ``python3``; else None.

    Commands call plain ``python3``. On the host that may be a shim or a virtual environment somewhere in a
    home directory, which does not exist inside; this is the installation behind it.
    """
    if shutil.which("python3", path=SANDBOX_PATH):
        return None
    return Path(sys.base_prefix).resolve()


def search_path() -> str:
    """``PATH`` inside a process sandbox."""
    prefix = python_prefix()
    return SANDBOX_PATH if prefix is None else f"{prefix}/bin:{SANDBOX_PATH}"


def bounded(argv: list[str], limits: Limits, *, memory: bool, pids: bool) -> list[str]:
    """`argv` under resource limits of a process, set by ``prlimit`` in the child (no fork hook needed).

    Memory is bounded as private writable data per process, not as address space: runtimes such as Node or
    Go reserve gigabytes of addresses that they never use, and would not even start.

    Args:
        argv: The command.
        limits: Its limits. No file may grow beyond `Limits.tree`.
        memory: Bound memory too; leave it off where a control group does it better.
        pids: Bound the number of processes of the user. Right only where the user's processes are counted
            per sandbox, that is in a user namespace of its own.

    """
    prlimit = shutil.which("prlimit", path=SANDBOX_PATH)
    if prlimit is None:
        return argv
    options = ["--core=0", f"--fsize={limits.tree}"]
    if memory:
        options.append(f"--data={limits.memory}")
    if pids:
        options.append(f"--nproc={limits.pids}")
    return [prlimit, *options, "--", *argv]
