"""The store's interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from farm.errors import RecordError


class KeyMissing(RecordError):
    """The key is not in the store."""


class ObjectInfo(NamedTuple):
    """An object as a listing shows it."""

    key: str
    size: int
    etag: str
    """Changes when the object does; opaque."""


class Store(Protocol):
    """A flat space of immutable or derived objects under keys with `/`."""

    url: str
    """Where the store is; never holds credentials."""

    def ensure(self) -> None:
        """Create the bucket or directory if it is missing."""

    def get(self, key: str) -> bytes:
        """Read an object. Raises KeyMissing."""

    def put(self, key: str, data: bytes) -> None:
        """Write an object, replacing one that exists."""

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object only if the key is free. Returns whether this call created it."""

    def head(self, key: str) -> ObjectInfo | None:
        """What a listing would show for one key."""

    def scan(self, prefix: str) -> Iterator[ObjectInfo]:
        """Every object below a prefix, in order of key."""

    def children(self, prefix: str) -> list[str]:
        """The names one level below a prefix that ends in `/`."""

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens if there is none."""


def check_key(key: str) -> str:
    """Return `key` if it is a plain relative key; raise ValueError otherwise."""
    parts = key.split("/")
    if not key or "\0" in key or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"not a key: {key!r}")
    return key


__all__ = ["KeyMissing", "ObjectInfo", "Store", "check_key"]
