"""A small root file system made of the host's own programs: a shell and its tools, git, Python.

Python moves to ``/usr/local`` (it finds its library relative to its binary), everything else keeps its
place, with the four directories of ``/`` as links into ``/usr``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from workers.sandbox.base import SANDBOX_HOME, SANDBOX_PATH, SandboxError
from workers.sandbox.bwrap_options import group, passwd

REQUIRED = ("sh", "git", "env", "ls", "cat", "grep", "sed", "find", "sort")
_TOOLS = """
awk base64 basename bash bunzip2 bzip2 cat chmod cksum cmp comm cp cut date dd diff dirname du echo egrep
env expand expr false fgrep find fold getopt git grep groups gunzip gzip head hostname id install join kill
ln ls md5sum mkdir mkfifo mktemp mv nice nl nohup nproc od paste patch pgrep pkill printenv printf prlimit
ps pwd readlink realpath rev rm rmdir sed seq setpriv setsid sh sha1sum sha256sum shuf sleep sort split stat
stdbuf strings sum sync tac tail tar tee test timeout touch tr true truncate tsort tty uname unexpand uniq
unlink unxz uptime wc which whoami xargs xxd xz yes zcat
"""
_NO_STDLIB = {
    "__pycache__", "ensurepip", "idlelib", "lib2to3", "site-packages", "dist-packages", "test", "tests",
    "tkinter", "turtledemo",
}  # fmt: skip
_DATA = ("etc/ssl/certs/ca-certificates.crt", "usr/lib/locale/C.utf8", "usr/share/git-core/templates")
_MERGED = ("bin", "sbin", "lib", "lib64")
_DIRECTORIES = (
    "dev",
    "etc",
    "farm",
    "home",
    "proc",
    "root",
    "run",
    "sys",
    "usr/local/bin",
    "usr/bin",
    "work",
)


def build(root: Path) -> None:
    """Fill an empty directory with the root file system.

    Raises:
        SandboxError: the host lacks a program that the image must have.

    """
    lacking = [name for name in REQUIRED if _find(name) is None]
    if lacking:
        raise SandboxError(f"cannot build the base image: this host has no {', '.join(lacking)}")
    _skeleton(root)
    _git(root)
    programs = [*_tools(root), *_python(root)]
    for library in sorted(_libraries(programs)):
        _copy(library, root / _library_place(library))
    for name in _DATA:
        source = Path("/", name)
        if source.is_dir():
            shutil.copytree(source, root / name, dirs_exist_ok=True)
        elif source.is_file():
            _copy(source, root / name)
    _busybox(root)


def _skeleton(root: Path) -> None:
    for name in (*_DIRECTORIES, *(f"usr/{name}" for name in _MERGED), SANDBOX_HOME[1:], "tmp", "var/tmp"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in _MERGED:
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc/passwd").write_text(passwd())
    (root / "etc/group").write_text(group())
    (root / "etc/nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n")


def _tools(root: Path) -> Iterator[Path]:
    for name in _TOOLS.split():
        found = _find(name)
        if found is not None:
            _copy(found, root / "usr/bin" / name)
            yield found


def _git(root: Path) -> None:
    """Git's own directory: its sub-commands are links to one program; helpers of remotes are left out."""
    core = Path("/usr/lib/git-core")
    target = root / "usr/lib/git-core"
    target.mkdir(parents=True)
    for path in sorted(core.iterdir()) if core.is_dir() else ():
        if path.is_symlink() or path.name == "git":
            if path.resolve().name == "git":
                (target / path.name).symlink_to("../../bin/git")
        elif path.is_file() and path.open("rb").read(9) == b"#!/bin/sh":
            _copy(path, target / path.name)


def _python(root: Path) -> Iterator[Path]:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    binary = (Path(sys.base_prefix) / "bin" / version).resolve()
    _copy(binary, root / "usr/local/bin" / version)
    for name in ("python3", "python"):
        (root / "usr/local/bin" / name).symlink_to(version)
    yield binary
    base = {"base": sys.base_prefix, "installed_base": sys.base_prefix}
    stdlib = Path(sysconfig.get_path("stdlib", vars=base))
    target = root / "usr/local/lib" / version

    def left_out(directory: str, names: list[str]) -> set[str]:
        return {name for name in names if name in _NO_STDLIB or name.startswith("config-") or name.endswith(".a")}

    shutil.copytree(stdlib, target, ignore=left_out)
    _compile(binary, root, target)
    yield from stdlib.glob("lib-dynload/*.so")


def _compile(python: Path, root: Path, library: Path) -> None:
    """Compile the library: nothing can be cached in a read-only root, and tests start Python often.

    By hash, because the archive has no times. In one process with a fixed hash seed: compiled files differ
    with the order of sets and with what was compiled before, and equal hosts shall give equal images.
    """
    options = ["-q", "-j1", "--invalidation-mode", "unchecked-hash", "-s", str(root), "-p", "/"]
    subprocess.run(
        [str(python), "-S", "-m", "compileall", *options, str(library)],
        env={"PYTHONHASHSEED": "0", "LC_ALL": "C"},
        stdout=subprocess.DEVNULL,
        check=False,  # a file that does not compile is only slower
    )


def _busybox(root: Path) -> None:
    """Links to a static busybox for every usual tool that the host does not have by itself."""
    busybox = _find("busybox")
    if busybox is None:
        return
    listing = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=False)
    _copy(busybox, root / "usr/bin/busybox")
    for name in listing.stdout.split():
        place = root / "usr/bin" / name
        if not place.exists():
            place.symlink_to("busybox")


def _libraries(programs: list[Path]) -> set[Path]:
    """All shared libraries, and the loader, that these programs need."""
    listing = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False)
    return {Path(name) for name in re.findall(r"(?:=>\s+|^\s+)(/\S+) \(0x", listing.stdout, re.MULTILINE)}


def _library_place(library: Path) -> str:
    name = library.as_posix().lstrip("/")
    if name.split("/")[0] in _MERGED:
        return f"usr/{name}"
    if name.startswith("usr/lib"):
        return name
    # A library from a prefix of its own (a Python built by hand) goes where the loader looks anyway.
    triplet = sysconfig.get_config_var("MULTIARCH")
    return f"usr/lib/{triplet}/{library.name}" if triplet else f"usr/lib/{library.name}"


def _find(name: str) -> Path | None:
    found = shutil.which(name, path=SANDBOX_PATH)
    return Path(found).resolve() if found else None


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
