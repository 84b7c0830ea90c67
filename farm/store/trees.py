"""A directory tree as one deterministic archive."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Collection, Iterator
from pathlib import Path

from farm.errors import InputError, RecordError
from farm.store.links import escaping

_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE)


def pack_tree(path: Path, leave_out: Collection[str] = ()) -> bytes:
    """Archive a tree written by the submitter: same tree, same bytes, on every machine.

    Names are sorted, times and owners zero, modes reduced to 644 and 755 by the x bits; links stay links
    and empty directories are kept. Nothing is skipped but names in `leave_out`, at any depth.

    Raises:
        InputError: not a directory; a file that cannot be read; a device, FIFO or socket; a symbolic link
            that leaves the tree.

    """
    buffer = io.BytesIO()
    links: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name in sorted(_names(path, "", leave_out)):
                member, data = _member(path / name, name)
                if member.issym():
                    links[name] = member.linkname
                archive.addfile(member, io.BytesIO(data))
    except OSError as error:
        raise InputError(f"{error.filename or path}: cannot be packed: {error.strerror}") from None
    if (link := escaping(links)) is not None:
        raise InputError(f"{path / link}: symbolic link to {links[link]!r} leaves the tree")
    return buffer.getvalue()


def _names(root: Path, base: str, leave_out: Collection[str]) -> Iterator[str]:
    # Not Path.rglob, which passes over directories that it may not read.
    with os.scandir(root / base) as entries:
        for entry in entries:
            if entry.name not in leave_out:
                yield base + entry.name
                if entry.is_dir(follow_symlinks=False):
                    yield from _names(root, base + entry.name + "/", leave_out)


def _member(path: Path, name: str) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(path)
        return member, b""
    if stat.S_ISDIR(mode):
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        return member, b""
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: only files, directories and symbolic links can be packed")
    # What was a file above must be read as one, whatever took its place.
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:  # noqa: PTH123
        data = stream.read()
    member.size, member.mode = len(data), 0o755 if mode & 0o111 else 0o644
    return member, data


def unpack_tree(data: bytes, into: Path) -> None:
    """Extract an archive made by `pack_tree`; any other one is refused before anything is written.

    Stricter than tarfile's `data` filter: only files, directories and links are members, no name comes
    twice or below a file or link, links stay inside by where they really lead, and they are made
    last, so nothing is ever written through one.

    Args:
        data: the archive.
        into: a directory that is empty or does not exist yet.

    Raises:
        InputError: `into` holds something.
        RecordError: not an archive, or not a safe one.

    """
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            members = _checked(archive.getmembers())
            into.mkdir(parents=True, exist_ok=True)
            if any(into.iterdir()):
                raise InputError(f"{into}: a tree is only unpacked into an empty directory")
            for name, member in members.items():
                _extract(archive, member, into / name)
    except (tarfile.TarError, ValueError, OverflowError, EOFError) as error:
        raise RecordError(f"archive cannot be unpacked: {error}") from None


def _checked(members: list[tarfile.TarInfo]) -> dict[str, tarfile.TarInfo]:
    """Members by name, in an order that is safe to write: directories, files, links."""
    found: dict[str, tarfile.TarInfo] = {}
    for member in members:
        name = member.name.removesuffix("/") if member.isdir() else member.name
        if not name or "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
            raise RecordError(f"archive refused: {member.name!r} is not a plain relative name")
        if member.type not in _KINDS or member.sparse is not None:
            raise RecordError(f"archive refused: {name!r} is neither file, directory nor symbolic link")
        if member.issym() and (not member.linkname or "\0" in member.linkname):
            raise RecordError(f"archive refused: {name!r} is a link to nothing")
        if name in found:
            raise RecordError(f"archive refused: {name!r} comes twice")
        found[name] = member
    for name in found:
        for end in (i for i, letter in enumerate(name) if letter == "/"):
            parent = found.get(name[:end])
            if parent is not None and not parent.isdir():
                raise RecordError(f"archive refused: {name!r} lies below {parent.name!r}, which is no directory")
    links = {name: member.linkname for name, member in found.items() if member.issym()}
    if (link := escaping(links)) is not None:
        raise RecordError(f"archive refused: symbolic link {link!r} to {links[link]!r} leaves the tree")
    return dict(sorted(found.items(), key=lambda item: (item[1].issym(), not item[1].isdir(), item[0])))


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        path.symlink_to(member.linkname)
        return
    stream = archive.extractfile(member)
    content = stream.read() if stream is not None else b""
    if len(content) != member.size:
        raise RecordError(f"archive cannot be unpacked: {member.name!r} is cut off")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb") as target:  # noqa: PTH123
        target.write(content)
        # Explicit, so that the umask has no say.
        os.fchmod(handle, 0o755 if member.mode & 0o111 else 0o644)
