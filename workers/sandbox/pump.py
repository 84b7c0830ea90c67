"""Reading a child process's output until it ends, its deadline comes or it is stopped."""

from __future__ import annotations

import contextlib
import enum
import os
import select
import subprocess
import threading
import time

from workers.sandbox.base import STOP_POLL, CappedOutput

_CHUNK = 1 << 16


class Ending(enum.Enum):
    """Why the pump ended."""

    EXITED = "exited"
    DEADLINE = "deadline"
    STOPPED = "stopped"


def pump(
    process: subprocess.Popen[bytes],
    output: CappedOutput,
    deadline: float,
    stop: threading.Event | None,
) -> Ending:
    """Collect output until the process itself has exited; kills nothing.

    The process is watched beside its pipe: a background child can hold the pipe open for ever, and a
    process may close its output and go on.

    Args:
        process: Started with ``stdout=PIPE``.
        output: Where the bytes go.
        deadline: In seconds of the monotonic clock.
        stop: Ends the pump when it is set.

    """
    pipe = _pipe(process)
    os.set_blocking(pipe, False)
    exited = os.pidfd_open(process.pid)
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    poll.register(exited, select.POLLIN)
    try:
        while True:
            if stop is not None and stop.is_set():
                return Ending.STOPPED
            left = deadline - time.monotonic()
            if left <= 0:
                return Ending.DEADLINE
            wait = left if stop is None else min(left, STOP_POLL)
            ready = {fd for fd, _ in poll.poll(wait * 1000)}
            if pipe in ready and not read_some(pipe, output):
                poll.unregister(pipe)
            if exited in ready:
                return Ending.EXITED
    finally:
        os.close(exited)


def read_some(pipe: int, output: CappedOutput) -> bool:
    """One read of a non-blocking pipe; False at its end."""
    try:
        chunk = os.read(pipe, _CHUNK)
    except BlockingIOError:
        return True
    output.feed(chunk)
    return bool(chunk)


def drain(process: subprocess.Popen[bytes], output: CappedOutput) -> None:
    """Take what is left in the pipe of a process whose children are dead; never waits."""
    pipe = _pipe(process)
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(pipe, _CHUNK):
            output.feed(chunk)


def _pipe(process: subprocess.Popen[bytes]) -> int:
    if process.stdout is None:
        raise ValueError("the process was started without a pipe for its output")
    return process.stdout.fileno()
