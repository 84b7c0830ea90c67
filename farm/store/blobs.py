"""Content-addressed blobs: fixtures, overlays, scripts and oracles, stored once whoever uses them."""

from __future__ import annotations

from pathlib import Path

import zstandard

from farm.errors import RecordError
from farm.model.scalars import digest_of
from farm.store.base import Store
from farm.store.keys import blob_key
from farm.store.trees import pack_tree, unpack_tree


class Blobs:
    """Blobs in a store, compressed; the digest is that of the uncompressed bytes."""

    def __init__(self, store: Store):
        self.store = store

    def put(self, data: bytes) -> str:
        """Store some bytes unless they are there already; returns their digest."""
        digest = digest_of(data)
        if self.store.head(blob_key(digest)) is None:
            self.store.put(blob_key(digest), zstandard.ZstdCompressor(level=6).compress(data))
        return digest

    def get(self, digest: str) -> bytes:
        """Read some bytes and verify them.

        Raises:
            RecordError: the stored bytes do not have this digest.

        """
        return verify_blob(digest, self.store.get(blob_key(digest)))

    def put_tree(self, root: Path) -> str:
        """Store a directory tree; returns the digest of its archive."""
        return self.put(pack_tree(root))

    def get_tree(self, digest: str, into: Path) -> None:
        """Write a stored tree into a directory."""
        unpack_tree(self.get(digest), into)


def verify_blob(digest: str, stored: bytes) -> bytes:
    """Decompress a stored blob and check its digest; raises RecordError if it is damaged."""
    try:
        data = zstandard.ZstdDecompressor().decompress(stored)
    except zstandard.ZstdError as error:
        raise RecordError(f"blob {digest} is damaged: {error}") from None
    if digest_of(data) != digest:
        raise RecordError(f"blob {digest} is damaged: its content has another digest")
    return data
