"""Worktrees: seeding, and taking a change out of a tree that may be hostile.

No git command ever runs on a tree the producer wrote: the tree is walked without following links, and
the diff is made in a bare repository of our own from the bytes that the walk read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from farm.errors import FarmError
from farm.model.limits import Limits

_NEVER = {".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
"""Names never captured: repositories are not interpreted, caches are nobody's work."""

_DEPTH = 128
_DIRECTORY = "040000"
_REMOVED = "removed"
_CHANGED = "changed/"

_GIT_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
    "GIT_AUTHOR_NAME": "evalfarm",
    "GIT_AUTHOR_EMAIL": "seed@evalfarm.invalid",
    "GIT_COMMITTER_NAME": "evalfarm",
    "GIT_COMMITTER_EMAIL": "seed@evalfarm.invalid",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00+0000",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00+0000",
}
_SETTINGS: tuple[str, ...] = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "core.attributesFile=/dev/null",
)
_SETTINGS += ("core.quotePath=true", "core.autocrlf=false")
_GIT: list[str] = ["git", *(word for setting in _SETTINGS for word in ("-c", setting))]


class TooBig(FarmError):
    """The worktree exceeds the limits on what is captured."""


class Entry(NamedTuple):
    """One path of a snapshot."""

    mode: str
    """Git's mode: 100644, 100755, 120000 (link) or 040000 (directory)."""
    digest: str
    size: int


@dataclass(frozen=True)
class Snapshot:
    """What a tree holds, by path (undecodable bytes as surrogate escapes)."""

    entries: dict[str, Entry]
    skipped: tuple[str, ...] = field(default=())
    """Paths that were not captured, each with the reason."""


@dataclass(frozen=True)
class Change:
    """The difference of two snapshots."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]

    def without(self, paths: frozenset[str]) -> Change:
        """The change with some paths left out."""
        return Change(
            tuple(p for p in self.changed if p not in paths), tuple(p for p in self.removed if p not in paths)
        )


def snapshot(root: Path, limits: Limits) -> Snapshot:
    """Walk a tree without following a link, opening a device or reading more than the limits allow.

    Raises:
        TooBig: more entries or bytes than the limits.

    """
    entries: dict[str, Entry] = {}
    skipped: list[str] = []
    total = 0

    def walk(directory: int, prefix: str, depth: int) -> None:
        nonlocal total
        with os.scandir(directory) as scan:
            names = sorted((entry.name for entry in scan), key=os.fsencode)
        for name in names:
            path = f"{prefix}{name}"
            if name in _NEVER or name.lower() == ".git":
                if prefix and name.lower() == ".git":
                    skipped.append(f"{path}: nested repository")
                continue
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if len(entries) >= limits.files:
                raise TooBig(f"the worktree has more than {limits.files} entries")
            if stat.S_ISDIR(status.st_mode):
                if depth >= _DEPTH:
                    skipped.append(f"{path}: deeper than {_DEPTH} directories")
                    continue
                entries[path] = Entry(_DIRECTORY, "", 0)
                try:
                    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
                except PermissionError:
                    skipped.append(f"{path}: not readable")
                    continue
                try:
                    walk(inner, path + "/", depth + 1)
                finally:
                    os.close(inner)
            elif stat.S_ISLNK(status.st_mode):
                target = os.fsencode(os.readlink(name, dir_fd=directory))
                entries[path] = Entry("120000", hashlib.sha256(target).hexdigest(), len(target))
            elif stat.S_ISREG(status.st_mode):
                if status.st_size > limits.file:
                    skipped.append(f"{path}: {status.st_size} bytes, more than {limits.file}")
                    continue
                total += status.st_size
                if total > limits.tree:
                    raise TooBig(f"the worktree holds more than {limits.tree} bytes")
                mode = "100755" if status.st_mode & 0o100 else "100644"
                try:
                    data = _read(name, directory, limits.file)
                except PermissionError:
                    skipped.append(f"{path}: not readable")
                    continue
                entries[path] = Entry(mode, hashlib.sha256(data).hexdigest(), len(data))
            else:
                skipped.append(f"{path}: neither file, directory nor link")

    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        walk(top, "", 0)
    finally:
        os.close(top)
    return Snapshot(entries, tuple(skipped))


def _read(name: str, directory: int | None, cap: int) -> bytes:
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(f"{name!r} is not a file any more")
        return stream.read(cap)


def read_inside(root: Path, path: str, cap: int) -> bytes | None:
    """Read a regular file below `root`; None if there is none, or if a link stands anywhere in its path."""
    folder = root
    for part in Path(path).parts[:-1]:
        folder = folder / part
        if folder.is_symlink():
            return None
    try:
        return _read(str(root / path), None, cap)
    except OSError:
        return None


def change_between(before: Snapshot, after: Snapshot) -> Change:
    """What was added or changed, and what was removed (children before their directory)."""
    changed = tuple(path for path, entry in after.entries.items() if before.entries.get(path) != entry)
    skipped = {line.rpartition(": ")[0] for line in after.skipped}
    removed = sorted((p for p in before.entries if p not in after.entries and p not in skipped), reverse=True)
    return Change(changed, tuple(removed))


def pack_change(root: Path, after: Snapshot, change: Change, limits: Limits) -> bytes:
    """The change as one deterministic archive: equal changes give equal bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        removed = b"\0".join(os.fsencode(path) for path in change.removed)
        listing = tarfile.TarInfo(_REMOVED)
        listing.size = len(removed)
        archive.addfile(listing, io.BytesIO(removed))
        for path in change.changed:
            entry = after.entries[path]
            member = tarfile.TarInfo(_CHANGED + path)
            if entry.mode == _DIRECTORY:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
            elif entry.mode == "120000":
                member.type, member.linkname = tarfile.SYMTYPE, os.readlink(root / path)
                archive.addfile(member)
            else:
                data = _read(str(root / path), None, limits.file)
                member.size, member.mode = len(data), int(entry.mode[-3:], 8)
                archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def apply_change(archive_bytes: bytes, root: Path, protected: Callable[[str], bool]) -> list[str]:
    """Apply a packed change to a pristine tree that nothing untrusted has run in.

    Protected paths keep their pristine state; those the change would have touched are returned.
    """
    kept: list[str] = []
    with tarfile.open(fileobj=io.BytesIO(archive_bytes), mode="r:") as archive:
        members = archive.getmembers()
        listing = archive.extractfile(members[0])
        assert listing is not None
        for name in map(os.fsdecode, filter(None, listing.read().split(b"\0"))):
            if protected(name):
                kept.append(name)
            elif (root / name).is_dir() and not (root / name).is_symlink():
                with contextlib.suppress(OSError):  # not empty: something protected lies in it
                    (root / name).rmdir()
            else:
                _remove(root / name)
        for member in members[1:]:
            name = member.name.removeprefix(_CHANGED)
            path = root / name
            if protected(name):
                if not member.isdir():
                    kept.append(name)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink() or (path.exists() and path.is_dir() != member.isdir()):
                _remove(path)
            if member.isdir():
                path.mkdir(exist_ok=True)
            elif member.issym():
                _remove(path)
                path.symlink_to(member.linkname)
            else:
                content = archive.extractfile(member)
                assert content is not None
                path.write_bytes(content.read())
                path.chmod(member.mode)
    return sorted(kept)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


class Diff(NamedTuple):
    """A change as text, with its size in lines."""

    patch: bytes
    added: int
    removed: int


def diff_of(before: Path, after: Path, old: Snapshot, new: Snapshot, change: Change, limits: Limits) -> Diff:
    """A unified diff with renames, modes and binaries, made by git from bytes alone.

    Only the changed paths are imported, so the cost grows with the change and not with the tree.
    """
    paths = sorted({*change.changed, *change.removed})
    with tempfile.TemporaryDirectory(prefix="farm-diff-") as directory:
        repository = Path(directory, "r.git")
        _git("init", "--quiet", "--bare", "--template=", str(repository))
        (repository / "info").mkdir(exist_ok=True)
        # Outranks any attribute file of the tree: no conversion, no hidden file, no "binary" by decree.
        (repository / "info" / "attributes").write_text("* !diff !text !eol !filter !ident !working-tree-encoding\n")
        stream = io.BytesIO()
        _write_commit(stream, "old", before, old, paths, limits)
        _write_commit(stream, "new", after, new, paths, limits)
        stream.write(b"done\n")
        _git(f"--git-dir={repository}", "fast-import", "--quiet", "--done", "--force", data=stream.getvalue())
        common = (
            f"--git-dir={repository}",
            "diff-tree",
            "-r",
            "-M",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
        )
        patch = _git(*common, "-p", "--binary", "--full-index", "refs/heads/old", "refs/heads/new")
        numbers = _git(*common, "--numstat", "-z", "refs/heads/old", "refs/heads/new")
    added = removed = 0
    for field_ in numbers.split(b"\0"):
        columns = field_.split(b"\t")
        if len(columns) == 3 and columns[0].isdigit():
            added, removed = added + int(columns[0]), removed + int(columns[1])
    return Diff(patch, added, removed)


def _write_commit(
    stream: io.BytesIO, branch: str, root: Path, tree: Snapshot, paths: list[str], limits: Limits
) -> None:
    stream.write(f"commit refs/heads/{branch}\ncommitter evalfarm <e@evalfarm.invalid> 0 +0000\ndata 0\n".encode())
    for path in paths:
        entry = tree.entries.get(path)
        if entry is None or entry.mode == _DIRECTORY:
            continue
        if entry.mode == "120000":
            data = os.fsencode(os.readlink(root / path))
        else:
            data = _read(str(root / path), None, limits.file)
        stream.write(b"M " + entry.mode.encode() + b" inline " + _quoted(path) + b"\n")
        stream.write(f"data {len(data)}\n".encode() + data + b"\n")


def _quoted(path: str) -> bytes:
    plain = range(0x20, 0x7F)
    body = b"".join(
        bytes([byte]) if byte in plain and byte not in b'"\\' else b"\\%03o" % byte for byte in os.fsencode(path)
    )
    return b'"' + body + b'"'


def seed(tree: Path, layers: list[list[Path]]) -> str:
    """Build a worktree: one commit for each layer (its directories copied over each other), nothing else.

    Dates and identity are fixed, so equal content gives an equal commit id, which is returned. A `.git`
    in a layer is left out: its configuration could run commands on this host.
    """
    tree.mkdir(parents=True)
    _git("init", "--quiet", "--template=", "--initial-branch=main", str(tree))
    for layer in layers:
        for source in layer:
            shutil.copytree(source, tree, symlinks=True, dirs_exist_ok=True, ignore=_repositories)
        _git("-C", str(tree), "add", "--all", "--force")
        _git("-C", str(tree), "commit", "--quiet", "--allow-empty", "--no-verify", "-m", "seed")
    return _git("-C", str(tree), "rev-parse", "HEAD").decode().strip()


def _repositories(_: str, names: list[str]) -> set[str]:
    """Any `.git`, however it is written: git on the host would run what its configuration names."""
    return {name for name in names if name.lower() == ".git"}


def _git(*arguments: str, data: bytes | None = None) -> bytes:
    try:
        return subprocess.run(
            [*_GIT, *arguments], env=_GIT_ENV, input=data, capture_output=True, check=True, timeout=600
        ).stdout
    except FileNotFoundError:
        raise FarmError("git is not installed; the worker needs it to seed worktrees and make diffs") from None
    except subprocess.CalledProcessError as error:
        raise FarmError(f"git {arguments[0]}: {error.stderr.decode(errors='replace').strip()}") from None


def printable(path: str) -> str:
    """A path as text for records: undecodable bytes and control characters escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def give(tree: Path, uid: int) -> None:
    """Hand a tree over to a user, if this process may."""
    if os.geteuid() != 0 or uid == os.geteuid():
        return
    for folder, directories, files in os.walk(tree):
        for name in (*directories, *files):
            os.chown(os.path.join(folder, name), uid, uid, follow_symlinks=False)  # noqa: PTH118
    os.chown(tree, uid, uid)


def discard(tree: Path) -> None:
    """Remove a tree whatever its modes and depth."""
    subprocess.run(["rm", "-rf", "--", str(tree)], check=False, stderr=subprocess.DEVNULL)
    if tree.exists():
        subprocess.run(["chmod", "-R", "u+rwx", "--", str(tree)], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", "--", str(tree)], check=False)
