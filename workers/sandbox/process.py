"""Sandboxes without an engine: bubblewrap where it works, else a plain subprocess."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

import structlog

from workers.sandbox.base import SANDBOX_PATH, Command, Finished, Sandbox, SandboxError, drain


def process_sandbox() -> Sandbox:
    """Bubblewrap if it is installed and works for this user, else the plain subprocess with a warning."""
    if _bwrap_works():
        return BwrapSandbox()
    structlog.get_logger().warning(
        "NO ISOLATION: bubblewrap is missing or refused; agents run as plain processes and can read and "
        "change everything you can. Install bubblewrap, or use --sandbox docker."
    )
    return PlainSandbox()


@cache
def _bwrap_works() -> bool:
    if not shutil.which("bwrap"):
        return False
    probe = subprocess.run([*_bwrap_base(), "true"], capture_output=True, timeout=20, check=False)
    return probe.returncode == 0


def _bwrap_base() -> list[str]:
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    argv += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            argv += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            argv += ["--ro-bind", str(path), str(path)]
    for name in ("/etc/alternatives", "/etc/ld.so.cache", "/etc/passwd", "/etc/group"):
        argv += ["--ro-bind-try", name, name]
    argv += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/tmp/home"]  # noqa: S108
    for directory in _python_prefixes():
        argv += ["--ro-bind", directory, directory]
    return argv


@cache
def _python_prefixes() -> tuple[str, ...]:
    """The interpreter's own tree, when the system directories hold no python3."""
    if shutil.which("python3", path=SANDBOX_PATH):
        return ()
    return (os.path.realpath(sys.base_prefix),)


def _path() -> str:
    return ":".join([f"{prefix}/bin" for prefix in _python_prefixes()] + [SANDBOX_PATH])


class BwrapSandbox:
    """Namespaces by bubblewrap: own file system, processes and network; memory and CPU by rlimits."""

    name = "bwrap"
    isolates = True

    def run(self, command: Command, stop: threading.Event | None = None) -> Finished:
        """Run a command to its end."""
        argv = _bwrap_base()
        for mount in command.mounts:
            argv += ["--ro-bind" if mount.read_only else "--bind", str(mount.source), mount.target]
        env = {"PATH": _path(), "HOME": "/tmp/home", "LANG": "C.UTF-8", **command.env}  # noqa: S108
        for name, value in env.items():
            argv += ["--setenv", name, value]
        argv += ["--chdir", command.workdir, "--", *command.argv]
        return _run(argv, {"PATH": os.defpath}, None, command, stop)

    def missing_image(self, image: str | None) -> str | None:
        """Images mean nothing here: the host's /usr is what commands see."""
        return None


class PlainSandbox:
    """No isolation at all. Mount targets do not exist, so words that begin with one become host paths."""

    name = "plain"
    isolates = False

    def run(self, command: Command, stop: threading.Event | None = None) -> Finished:
        """Run a command to its end."""

        def translate(word: str) -> str:
            for mount in sorted(command.mounts, key=lambda m: -len(m.target)):
                if word == mount.target or word.startswith(mount.target + "/"):
                    return str(mount.source) + word[len(mount.target) :]
            return word

        env = {"PATH": _path(), "LANG": "C.UTF-8"}
        env |= {name: translate(value) for name, value in command.env.items()}
        workdir = translate(command.workdir)
        env.setdefault("HOME", workdir)
        return _run([translate(word) for word in command.argv], env, workdir, command, stop)

    def missing_image(self, image: str | None) -> str | None:
        """Images mean nothing here."""
        return None


def _run(
    argv: list[str], env: dict[str, str], cwd: str | None, command: Command, stop: threading.Event | None
) -> Finished:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (max(command.limits.memory, 1 << 28),) * 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (command.limits.tree,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    started = time.monotonic()
    try:
        process = subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=limit,  # noqa: PLW1509 - only sets rlimits
        )
    except FileNotFoundError as error:
        if cwd is None:
            raise SandboxError(f"cannot start {argv[0]}: {error.strerror}") from None
        # As in a real sandbox: a program that is not there ends with 127.
        return Finished(127, False, False, f"{argv[0]}: not found\n".encode(), False, 0.0)
    except OSError as error:
        raise SandboxError(f"cannot start {argv[0]}: {error.strerror}") from None

    def kill() -> None:
        # bwrap's first child is the namespace's init: with it everything inside dies.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    assert process.stdout is not None  # noqa: S101 - for the type checker
    try:
        with process.stdout as stream:
            drained = drain(stream, command.limits.output, started + command.deadline, stop, kill)
        code: int | None = process.wait()
    finally:
        kill()
        process.wait()
    if code is not None and code < 0:
        code = 128 - code
    return Finished(
        None if drained.timed_out else code,
        drained.timed_out,
        False,
        drained.output,
        drained.truncated,
        time.monotonic() - started,
    )
