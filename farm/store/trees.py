"""A directory tree as one deterministic archive."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from pathlib import Path, PurePosixPath

from farm.errors import InputError, RecordError

_CACHES = {"__pycache__", ".pytest_cache", ".git"}


def pack_tree(root: Path) -> bytes:
    """Archive a tree written by the submitter: same tree, same bytes, on every machine.

    Names are sorted, times and owners zero, modes reduced to 644 and 755; byte-code caches and `.git`
    are left out.

    Raises:
        InputError: a device, FIFO or socket, or a symbolic link that leaves the tree.

    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(root.rglob("*"), key=lambda p: p.relative_to(root).as_posix()):
            relative = path.relative_to(root)
            if _CACHES.intersection(relative.parts):
                continue
            member = tarfile.TarInfo(relative.as_posix())
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink(path)
                _refuse_escape(path, relative, target)
                member.type, member.linkname = tarfile.SYMTYPE, target
                archive.addfile(member)
            elif stat.S_ISDIR(status.st_mode):
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
            elif stat.S_ISREG(status.st_mode):
                data = path.read_bytes()
                member.size = len(data)
                member.mode = 0o755 if status.st_mode & 0o111 else 0o644
                archive.addfile(member, io.BytesIO(data))
            else:
                raise InputError(f"{path}: only files, directories and symbolic links can be packed")
    return buffer.getvalue()


def _refuse_escape(path: Path, relative: Path, target: str) -> None:
    depth = len(relative.parts) - 1
    for part in PurePosixPath(target).parts:
        depth += -1 if part == ".." else 1
        if depth < 0 or part == "/":
            raise InputError(f"{path}: symbolic link to {target!r} leaves the tree")


def unpack_tree(data: bytes, into: Path) -> None:
    """Extract an archive made by `pack_tree` into a directory.

    Raises:
        RecordError: a member would land outside, or is neither file, directory nor symbolic link.

    """
    into.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            archive.extractall(into, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise RecordError(f"archive cannot be unpacked: {error}") from None
