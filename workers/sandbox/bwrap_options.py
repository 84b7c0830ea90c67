"""The options of bubblewrap: what a command sees, and as whom it runs."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePath, PurePosixPath

from workers.sandbox.base import (
    SANDBOX_HOME,
    SANDBOX_LANG,
    SANDBOX_PATH,
    SANDBOX_UID,
    Command,
    sandbox_uid,
)
from workers.sandbox.host import bounded, python_prefix, search_path

_ENV_FILE = "/.environment"
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("alternatives", "ca-certificates", "ld.so.cache", "localtime", "nsswitch.conf", "pki", "ssl")
_ETC_NETWORK = ("hosts", "resolv.conf")
_NAMESPACES = ("ipc", "pid", "uts", "cgroup-try")
_RUN = f'. {_ENV_FILE}; exec "$@"'


class Options:
    """Options under construction, with the file descriptors that hold the content of files."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.fds: list[int] = []

    def add(self, *words: str | PurePath) -> None:
        """Append words."""
        self.words += map(str, words)

    def parents(self, target: str | PurePath) -> None:
        """The directories above `target`; those that bubblewrap makes by itself are closed to others."""
        for parent in reversed(PurePosixPath(target).parents[:-1]):
            self.add("--perms", "0755", "--dir", parent)

    def file(self, target: str, content: str) -> None:
        """A read-only file with this content."""
        self.add("--perms", "0444", "--ro-bind-data", str(self.data(content)), target)

    def data(self, content: str) -> int:
        """A descriptor from which `content` can be read once."""
        fd = os.memfd_create("sandbox")
        self.fds.append(fd)
        os.write(fd, content.encode("utf-8", "surrogateescape"))
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def close(self) -> None:
        """Close the descriptors."""
        for fd in self.fds:
            os.close(fd)
        self.fds.clear()


def fill(options: Options, command: Command) -> None:
    """Everything that makes the sandbox; the words of the command itself are `inner`."""
    _isolation(options, command)
    _system(options, command)
    _scratch(options, command)
    for mount in sorted(command.mounts, key=lambda mount: len(PurePosixPath(mount.target).parts)):
        options.parents(mount.target)
        options.add("--ro-bind" if mount.read_only else "--bind", mount.source, mount.target)
    if not any(_inside(command.workdir, mount.target) for mount in command.mounts):
        options.parents(command.workdir)
        options.add("--perms", "0755", "--dir", command.workdir)
    options.add("--remount-ro", "/", "--chdir", command.workdir)


def inner(command: Command, *, grouped: bool, count_pids: bool) -> list[str]:
    """The words that bubblewrap executes: limits, the drop to the sandbox's user, environment, command.

    The environment is set last. A loader variable in it must not reach the programs that still are root.

    Args:
        command: The command.
        grouped: A control group bounds memory and processes.
        count_pids: Processes are counted per sandbox, so that a limit on them is right.

    """
    words = ["/bin/sh", "-c", _RUN, "sh", *command.argv]
    if os.geteuid() == 0:
        drop = ["--reuid", str(SANDBOX_UID), "--regid", str(SANDBOX_UID), "--clear-groups"]
        words = ["/usr/bin/setpriv", *drop, "--inh-caps=-all", "--no-new-privs", "--", *words]
    return bounded(words, command.limits, memory=not grouped, pids=count_pids and not grouped)


def _isolation(options: Options, command: Command) -> None:
    options.add("--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox")
    options.add("--setenv", "PATH", SANDBOX_PATH, "--cap-drop", "ALL")
    options.add(*(f"--unshare-{namespace}" for namespace in _NAMESPACES))
    if command.network == "none":
        options.add("--unshare-net")
    if os.geteuid() == 0:
        # Only root can become another user without a user namespace; setpriv gives these two up again.
        options.add("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    else:
        options.add("--unshare-user", "--uid", str(SANDBOX_UID), "--gid", str(SANDBOX_UID))


def _system(options: Options, command: Command) -> None:
    options.add("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            options.add("--symlink", path.readlink(), path)
        elif path.is_dir():
            options.add("--ro-bind", path, path)
    options.parents("/etc/passwd")
    for name in (*_ETC, *(_ETC_NETWORK if command.network == "full" else ())):
        options.add("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    options.file("/etc/passwd", passwd())
    options.file("/etc/group", group())
    prefix = python_prefix()
    if prefix is not None:
        options.parents(prefix)
        options.add("--ro-bind", prefix, prefix)
    environment = {"PATH": search_path(), "HOME": SANDBOX_HOME, "LANG": SANDBOX_LANG, **command.env}
    options.file(_ENV_FILE, _exports(environment.items()))


def _scratch(options: Options, command: Command) -> None:
    memory = command.limits.memory
    options.add("--proc", "/proc", "--dev", "/dev")
    for mode, size, target in (
        ("1777", memory // 2, "/tmp"),  # noqa: S108 (inside the sandbox)
        ("1777", memory // 4, "/dev/shm"),  # noqa: S108
        ("0777", memory // 4, SANDBOX_HOME),
    ):
        options.add("--perms", mode, "--size", str(size), "--tmpfs", target)


def _exports(environment: Iterable[tuple[str, str]]) -> str:
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment)


def _inside(path: str, directory: str) -> bool:
    return PurePosixPath(path).is_relative_to(directory)


def passwd() -> str:
    """``/etc/passwd`` of a sandbox."""
    return (
        "root:x:0:0:root:/root:/bin/sh\n"
        f"agent:x:{SANDBOX_UID}:{SANDBOX_UID}:agent:{SANDBOX_HOME}:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    )


def group() -> str:
    """``/etc/group`` of a sandbox."""
    return f"root:x:0:\nagent:x:{SANDBOX_UID}:\nnogroup:x:65534:\n"


def missing_programs() -> list[str]:
    """The programs that this backend needs and the host does not have."""
    needed = ["bwrap", "prlimit", *(["setpriv"] if sandbox_uid() == SANDBOX_UID else [])]
    return [program for program in needed if shutil.which(program, path=SANDBOX_PATH) is None]
