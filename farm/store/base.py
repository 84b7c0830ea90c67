"""The store's interface."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from farm.errors import RecordError, Unreachable


class KeyMissing(RecordError):
    """The key is not in the store."""


class ConditionUnsupported(Unreachable):
    """The store answers that it does not know conditional writes (HTTP 501)."""


class ObjectInfo(NamedTuple):
    """An object as a listing shows it."""

    key: str
    size: int
    """Bytes as stored."""
    etag: str
    """Changes when the object does; opaque."""


class Store(Protocol):
    """A flat space of immutable or derived objects under keys with `/`.

    A key that is not plain (empty, absolute, with `.`, `..`, empty segments or NUL) is a ValueError
    everywhere. A store that cannot be reached, or refuses, is Unreachable everywhere.
    """

    url: str
    """Where the store is, in the form `open_store` takes; never holds credentials."""

    def ensure(self) -> None:
        """Create the bucket or directory if it is missing."""

    def get(self, key: str) -> bytes:
        """Read an object. Raises KeyMissing."""

    def get_file(self, key: str, path: Path) -> None:
        """Stream an object to a file, which appears whole or not at all. Raises KeyMissing."""

    def put(self, key: str, data: bytes) -> None:
        """Write an object, replacing one that exists."""

    def put_file(self, key: str, path: Path) -> None:
        """Stream a file into an object, replacing one that exists."""

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object only if the key is free. Returns whether this call created it."""

    def head(self, key: str) -> ObjectInfo | None:
        """What a listing would show for one key; None if there is no object."""

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Every object whose key begins with `prefix`, in order of key, however many there are."""

    def children(self, prefix: str) -> builtins.list[str]:
        """The names one level below a prefix that ends in `/` (or is empty), sorted."""

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens if there is none."""


def check_key(key: str) -> str:
    """Return `key` if it is a plain relative key; raise ValueError otherwise."""
    parts = key.split("/")
    if not key or "\0" in key or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"not a key: {key!r}")
    return key


def check_prefix(prefix: str) -> str:
    """Return `prefix` if plain keys can begin with it (it may be empty); raise ValueError otherwise."""
    if prefix:
        check_key(prefix + "x")
    return prefix


def check_directory(prefix: str) -> str:
    """Return `prefix` if it is empty or a plain key with `/` behind it; raise ValueError otherwise."""
    if prefix and not prefix.endswith("/"):
        raise ValueError(f"not a key: {prefix!r} (a directory ends in '/')")
    return check_prefix(prefix)


__all__ = ["ConditionUnsupported", "KeyMissing", "ObjectInfo", "Store", "check_directory", "check_key", "check_prefix"]
