"""The store in a local directory, with the same keys as in S3."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from farm.errors import Unreachable
from farm.store.base import KeyMissing, ObjectInfo, check_key

_TEMPORARY = ".writing-"


class LocalStore:
    """Objects are files below `root`; writes are atomic, `put_new` has exactly one winner."""

    def __init__(self, root: Path):
        self.root = root.absolute()
        self.url = f"file://{self.root}"

    def ensure(self) -> None:
        """Create the directory."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unreachable(f"store {self.url}: cannot create the directory ({error.strerror})") from None

    def _path(self, key: str) -> Path:
        return self.root / check_key(key)

    def get(self, key: str) -> bytes:
        """Read an object."""
        try:
            return self._path(key).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise KeyMissing(f"store {self.url}: no object {key!r}") from None

    def put(self, key: str, data: bytes) -> None:
        """Write an object atomically."""
        path = self._path(key)
        os.replace(self._write_beside(path, data), path)

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object if the key is free: a hard link fails when the name exists."""
        path = self._path(key)
        temporary = self._write_beside(path, data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        return True

    def _write_beside(self, path: Path, data: bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        return Path(name)

    def head(self, key: str) -> ObjectInfo | None:
        """What a listing would show."""
        try:
            return self._info(self._path(key))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def scan(self, prefix: str) -> Iterator[ObjectInfo]:
        """Every object below a prefix, in order of key."""
        directory = self.root / prefix.rpartition("/")[0]
        found = []
        for folder, _, names in os.walk(directory):
            for name in names:
                path = Path(folder) / name
                key = path.relative_to(self.root).as_posix()
                if key.startswith(prefix) and not name.startswith(_TEMPORARY):
                    found.append(key)
        for key in sorted(found):
            try:
                yield self._info(self.root / key)
            except FileNotFoundError:
                continue

    def children(self, prefix: str) -> list[str]:
        """The names one level below a prefix."""
        directory = self.root / prefix
        if not directory.is_dir():
            return []
        return sorted(p.name for p in directory.iterdir() if not p.name.startswith(_TEMPORARY))

    def delete(self, key: str) -> None:
        """Remove an object."""
        self._path(key).unlink(missing_ok=True)

    def _info(self, path: Path) -> ObjectInfo:
        stat = path.stat()
        key = path.relative_to(self.root).as_posix()
        return ObjectInfo(key, stat.st_size, f"{stat.st_mtime_ns}-{stat.st_size}")
