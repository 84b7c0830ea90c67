"""The store in a local directory, with the same keys as in S3."""

from __future__ import annotations

import builtins
import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from farm.errors import Unreachable
from farm.store.atomic import TEMPORARY, beside, replacing, settle
from farm.store.base import KeyMissing, ObjectInfo, check_directory, check_key, check_prefix


class LocalStore:
    """Objects are files below `root`; writes are atomic, `put_new` has exactly one winner.

    Unlike in S3, a key cannot be an object and the beginning of other keys (`a` and `a/b`) at once.
    """

    def __init__(self, root: Path):
        self.root = root.absolute()
        self.url = f"file://{self.root}"

    def ensure(self) -> None:
        """Create the directory."""
        with self._reported():
            self.root.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> bytes:
        """Read an object."""
        path = self._path(key)
        with self._reported(), self._missing(key):
            return path.read_bytes()

    def get_file(self, key: str, path: Path) -> None:
        """Copy an object to a file."""
        source = self._path(key)
        with contextlib.ExitStack() as stack:
            with self._reported(), self._missing(key):
                stream = stack.enter_context(source.open("rb"))
            # Errors from here on are of the destination, not of the store.
            shutil.copyfileobj(stream, stack.enter_context(replacing(path)))

    def put(self, key: str, data: bytes) -> None:
        """Write an object atomically."""
        path = self._path(key)
        with self._reported(), self._ready(path) as (temporary, stream):
            stream.write(data)
            settle(stream)
            os.replace(temporary, path)

    def put_file(self, key: str, path: Path) -> None:
        """Copy a file into an object atomically."""
        target = self._path(key)
        with path.open("rb") as source, self._reported(), self._ready(target) as (temporary, stream):
            shutil.copyfileobj(source, stream)
            settle(stream)
            os.replace(temporary, target)

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object if the key is free: a hard link fails when the name exists."""
        path = self._path(key)
        with self._reported(), self._ready(path) as (temporary, stream):
            stream.write(data)
            settle(stream)
            try:
                os.link(temporary, path)
            except FileExistsError:
                return False
            _settle_directory(path.parent)
        return True

    def head(self, key: str) -> ObjectInfo | None:
        """What a listing would show."""
        path = self._path(key)
        with self._reported():
            return _info(key, path)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Every object that begins with a prefix, in order of key. Links to directories are not followed."""
        base = check_prefix(prefix).rpartition("/")[0]
        with self._reported():
            yield from _below(self.root / base, base + "/" if base else "", prefix)

    def children(self, prefix: str) -> builtins.list[str]:
        """The names one level below a prefix."""
        directory = self.root / check_directory(prefix)
        with self._reported():
            # As in S3, a directory without an object does not exist.
            return sorted(
                name
                for name, is_directory in _entries(directory)
                if not is_directory or next(_below(directory / name, "", ""), None) is not None
            )

    def delete(self, key: str) -> None:
        """Remove an object. Its directories stay: taking them away could fail another's write."""
        path = self._path(key)
        with self._reported(), contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            path.unlink()

    def _path(self, key: str) -> Path:
        if any(part.startswith(TEMPORARY) for part in check_key(key).split("/")):
            raise ValueError(f"not a key: {key!r} (names with {TEMPORARY} are files being written)")
        return self.root / key

    @contextmanager
    def _ready(self, path: Path) -> Iterator[tuple[Path, BinaryIO]]:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside(path) as opened:
            yield opened

    @contextmanager
    def _missing(self, key: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise KeyMissing(f"store {self.url}: no object {key!r}") from None

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unreachable(f"store {self.url}: {error.filename or self.root}: {error.strerror}") from None


def _info(key: str, path: Path) -> ObjectInfo | None:
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return None if path.is_dir() else ObjectInfo(key, stat.st_size, f"{stat.st_mtime_ns}-{stat.st_size}")


def _entries(directory: Path) -> builtins.list[tuple[str, bool]]:
    try:
        with os.scandir(directory) as found:
            return [(e.name, e.is_dir(follow_symlinks=False)) for e in found if not e.name.startswith(TEMPORARY)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _below(directory: Path, base: str, prefix: str) -> Iterator[ObjectInfo]:
    # A directory sorts as its name with "/", which gives the order of whole keys ("a-b" before "a/b").
    for name, is_directory in sorted(_entries(directory), key=lambda e: e[0] + "/" if e[1] else e[0]):
        key = base + name
        if is_directory:
            if (key + "/").startswith(prefix) or prefix.startswith(key + "/"):
                yield from _below(directory / name, key + "/", prefix)
        elif key.startswith(prefix) and (info := _info(key, directory / name)) is not None:
            yield info


def _settle_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
