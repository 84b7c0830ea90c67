"""The bubblewrap backend: namespaces without an engine, in a few milliseconds.

The command lives in a process namespace of its own. When the namespace's init dies, the kernel kills all
that is in it, however it was started; a run is over only when that init is gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from functools import cache

from farm.errors import Unreachable
from farm.model.limits import Limits
from workers.sandbox import bwrap_options, cgroup
from workers.sandbox.base import (
    Aspect,
    CappedOutput,
    Command,
    Finished,
    SandboxError,
    SandboxInfo,
    Stopped,
    sandbox_uid,
)
from workers.sandbox.pump import Ending, drain, pump

_CHILD = re.compile(rb'"child-pid": (\d+)')
_EXIT = re.compile(rb'"exit-code": (\d+)')
_DEATH = 10.0
"""Seconds after which a killed sandbox that still lives is a broken host (a process stuck in the kernel)."""

# Joins the control groups before bubblewrap starts, so that nothing can be forked outside of them.
_JOIN = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ >"$1" || exit 125; shift; n=$((n-1)); done; exec "$@"'


class BwrapSandbox:
    """Runs commands under bubblewrap, as root or as an ordinary user with user namespaces."""

    name = "bwrap"

    def info(self) -> SandboxInfo:
        """Describe what is enforced here; raises Unreachable when bubblewrap does not work."""
        reason = why_not()
        if reason:
            raise Unreachable(f"bubblewrap does not work here ({reason}). Install it, or use Docker.")
        enforces: set[Aspect] = {"filesystem", "network", "output", "deadline"}
        grouped = _grouped()
        if grouped:
            enforces |= {"memory", "cpus", "pids"}
        elif _count_pids():
            enforces.add("pids")
        how = "control groups" if grouped else "limits of single processes"
        return SandboxInfo(self.name, True, f"{_version()}, {how}", frozenset(enforces), sandbox_uid())

    def run(self, command: Command, stop: threading.Event | None = None) -> Finished:
        """Run a command in namespaces of its own."""
        if stop is not None and stop.is_set():
            raise Stopped("stopped before the command was started")
        group = cgroup.create(command.limits)
        options = bwrap_options.Options()
        try:
            bwrap_options.fill(options, command)
            return _run(command, options, group, stop)
        except OSError as error:
            raise SandboxError(f"could not run bubblewrap: {error}") from error
        finally:
            options.close()
            if group is not None:
                group.remove()

    def has_image(self, image: str) -> bool:
        """Images mean nothing here: a command sees the host's ``/usr``."""
        return True

    def prefetch(self, image: str) -> None:
        """Nothing to fetch."""

    def reap(self, labels: Mapping[str, str]) -> int:
        """Nothing is ever left: the sandboxes of a worker die with it."""
        return 0


def _run(
    command: Command,
    options: bwrap_options.Options,
    group: cgroup.Cgroup | None,
    stop: threading.Event | None,
) -> Finished:
    output = CappedOutput(command.limits.output)
    with contextlib.ExitStack() as stack:
        status, status_in_child = os.pipe()
        stack.callback(os.close, status)
        options.add("--json-status-fd", str(status_in_child))
        try:
            process = _start(command, options, group, status_in_child)
        finally:
            os.close(status_in_child)
        stack.callback(_close_output, process)
        deadline = time.monotonic() + command.deadline
        report = b""
        init: int | None = None
        try:
            report = _first_report(status, deadline)
            init = _open_init(report)
            began = time.monotonic()
            ending = pump(process, output, began + command.deadline, stop)
            seconds = time.monotonic() - began
        finally:
            _kill(process, init)
        drain(process, output)
        report += _rest(status)
    if ending is Ending.STOPPED:
        raise Stopped("stopped; the sandbox is gone")
    timed_out = ending is Ending.DEADLINE
    code = _EXIT.search(report)
    if code is None and not timed_out:
        # Set only once the command was executed: without it, bubblewrap failed, not the command.
        tail = output.data[-500:].decode(errors="replace").strip()
        raise SandboxError(f"bubblewrap could not make the sandbox: {tail or 'it was killed'}")
    return Finished(
        exit_code=None if timed_out or code is None else int(code[1]),
        timed_out=timed_out,
        oom=group is not None and group.oom_kills(),
        output=output.data,
        output_truncated=output.truncated,
        seconds=seconds,
    )


def _start(
    command: Command, options: bwrap_options.Options, group: cgroup.Cgroup | None, status: int
) -> subprocess.Popen[bytes]:
    # Through a descriptor: the environment is in there, and anyone on the host can read a command line.
    arguments = options.data("".join(f"{word}\0" for word in options.words))
    words = ["bwrap", "--args", str(arguments), "--"]
    words += bwrap_options.inner(command, grouped=group is not None, count_pids=_count_pids())
    if group is not None:
        words = ["/bin/sh", "-c", _JOIN, "sh", str(len(group.joins)), *group.joins, *words]
    return subprocess.Popen(
        words,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(*options.fds, status),
        start_new_session=True,
        cwd="/",
    )


def _first_report(status: int, deadline: float) -> bytes:
    """What bubblewrap reports once the namespaces exist; empty when it failed before."""
    poll = select.poll()
    poll.register(status, select.POLLIN)
    report = b""
    while not _CHILD.search(report) and poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        chunk = os.read(status, 4096)
        if not chunk:
            break
        report += chunk
    return report


def _open_init(report: bytes) -> int | None:
    child = _CHILD.search(report)
    if child is None:
        return None
    try:
        return os.pidfd_open(int(child[1]))
    except ProcessLookupError:
        return None


def _kill(process: subprocess.Popen[bytes], init: int | None) -> None:
    """Kill the namespace's init and wait until the kernel has taken all of the namespace down."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        if init is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(init, signal.SIGKILL)
            poll = select.poll()
            poll.register(init, select.POLLIN)
            if not poll.poll(_DEATH * 1000):
                raise SandboxError("a sandbox could not be killed; a process hangs in the kernel")
    finally:
        process.wait()
        if init is not None:
            os.close(init)


def _rest(status: int) -> bytes:
    os.set_blocking(status, False)
    with contextlib.suppress(BlockingIOError):
        return os.read(status, 1 << 16)
    return b""


def _close_output(process: subprocess.Popen[bytes]) -> None:
    if process.stdout is not None:
        process.stdout.close()


def _grouped() -> bool:
    group = cgroup.create(Limits())
    if group is not None:
        group.remove()
    return group is not None


@cache
def _count_pids() -> bool:
    """Whether the kernel counts a user's processes per user namespace (5.14), and there is one."""
    release = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    return os.geteuid() != 0 and release >= (5, 14)


@cache
def _version() -> str:
    shown = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=False)
    return shown.stdout.strip() or "bubblewrap"


@cache
def why_not() -> str | None:
    """Why bubblewrap cannot be used here; None when it can. Tried once, with a real command."""
    missing = bwrap_options.missing_programs()
    if missing:
        return f"not installed: {', '.join(missing)}"
    try:
        done = BwrapSandbox().run(Command(("true",), (), "/", {}, 20.0, Limits()))
    except SandboxError as error:
        return str(error)
    return None if done.exit_code == 0 else f"a trial run ended with {done.exit_code}: {done.output[-300:]!r}"
