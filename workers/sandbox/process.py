"""Sandboxes without an engine: bubblewrap where it works, else a plain process that is none."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from functools import cache

import structlog

from workers.sandbox.base import (
    SANDBOX_LANG,
    Aspect,
    CappedOutput,
    Command,
    Finished,
    Sandbox,
    SandboxError,
    SandboxInfo,
    Stopped,
)
from workers.sandbox.bwrap import BwrapSandbox, why_not
from workers.sandbox.host import bounded, search_path
from workers.sandbox.pump import Ending, drain, pump

log = structlog.get_logger(__name__)


@cache
def process_sandbox() -> Sandbox:
    """The best that this host offers without an engine."""
    reason = why_not()
    if reason is None:
        return BwrapSandbox()
    log.warning(
        "NO ISOLATION: commands run as plain processes with all rights of this worker, and can read its "
        "files and use its network; install bubblewrap, or use Docker",
        reason=reason,
    )
    return PlainSandbox()


class PlainSandbox:
    """A plain process: a deadline and an output cap, and no isolation whatever.

    Mount targets do not exist on the host, so they are translated: `Command.workdir`, every word of
    `Command.argv`, and every value of `Command.env` (also each part of a ``:`` list) that is a mount target
    or begins with one and a slash, becomes the path on the host. A target in the middle of a word (``sh -c
    'cat /work/x'``) stays as it is: let commands use paths relative to their working directory. Nothing
    makes a read-only mount read-only. A process that leaves its process group may survive.
    """

    name = "plain"

    def info(self) -> SandboxInfo:
        """Describe what little is enforced."""
        enforces: frozenset[Aspect] = frozenset({"output", "deadline"})
        return SandboxInfo(self.name, False, "plain process, no isolation", enforces, os.geteuid())

    def run(self, command: Command, stop: threading.Event | None = None) -> Finished:
        """Run a command as a process of the worker's own user."""
        if stop is not None and stop.is_set():
            raise Stopped("stopped before the command was started")
        try:
            with tempfile.TemporaryDirectory(prefix="evalfarm-", ignore_cleanup_errors=True) as home:
                return _run(command, home, stop)
        except OSError as error:
            raise SandboxError(f"could not start a process: {error}") from error

    def has_image(self, image: str) -> bool:
        """Images mean nothing here."""
        return True

    def prefetch(self, image: str) -> None:
        """Nothing to fetch."""

    def reap(self, labels: Mapping[str, str]) -> int:
        """Nothing can be found again: plain processes carry no labels."""
        return 0


def _run(command: Command, home: str, stop: threading.Event | None) -> Finished:
    environment = {"PATH": search_path(), "HOME": home, "TMPDIR": home, "LANG": SANDBOX_LANG}
    environment |= {name: _list_on_host(value, command) for name, value in command.env.items()}
    words = ["/bin/sh", "-c", 'exec "$@"', "sh", *(_on_host(word, command) for word in command.argv)]
    process = subprocess.Popen(
        bounded(words, command.limits, memory=True, pids=False),
        env=environment,
        cwd=_on_host(command.workdir, command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    output = CappedOutput(command.limits.output)
    began = time.monotonic()
    try:
        ending = pump(process, output, began + command.deadline, stop)
        seconds = time.monotonic() - began
    finally:
        # Also after a normal end: as in a real sandbox, what runs in the background ends with the command.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        drain(process, output)
        if process.stdout is not None:
            process.stdout.close()
    if ending is Ending.STOPPED:
        raise Stopped("stopped; the process group is killed")
    timed_out = ending is Ending.DEADLINE
    return Finished(
        exit_code=None if timed_out else code if code >= 0 else 128 - code,
        timed_out=timed_out,
        oom=False,
        output=output.data,
        output_truncated=output.truncated,
        seconds=seconds,
    )


def _on_host(word: str, command: Command) -> str:
    """`word` with a leading mount target replaced by its source; the innermost target wins."""
    for mount in sorted(command.mounts, key=lambda mount: -len(mount.target)):
        target = mount.target.rstrip("/")
        if word == target or word.startswith(f"{target}/"):
            return f"{mount.source}{word[len(target) :]}"
    return word


def _list_on_host(value: str, command: Command) -> str:
    return ":".join(_on_host(part, command) for part in value.split(":"))
