"""Content-addressed blobs: fixtures, overlays, scripts and oracles, stored once whoever uses them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path

import zstandard

from farm.errors import RecordError
from farm.model.scalars import Digest, digest_of
from farm.store.atomic import replacing
from farm.store.base import Store
from farm.store.keys import blob_key
from farm.store.trees import pack_tree, unpack_tree

NEVER_SEEDED = frozenset({".git", "__pycache__", ".pytest_cache"})
"""Left out of trees unless asked for. `.git` is more than tidiness: workers seed repositories from these
trees, and git runs commands that a repository's own configuration names."""


class Blobs:
    """Blobs in a store, zstd-compressed; the digest is that of the uncompressed bytes.

    Args:
        store: where the blobs are.
        cache: a local directory that keeps what was read. It may be shared between processes and deleted
            at any time; what is in it is verified like what comes from the store.

    """

    def __init__(self, store: Store, cache: Path | None = None):
        self.store = store
        self.cache = cache

    def put_bytes(self, data: bytes) -> Digest:
        """Store some bytes unless they are there already; returns their digest."""
        digest = digest_of(data)
        if self.store.head(blob_key(digest)) is None:
            self.store.put(blob_key(digest), zstandard.ZstdCompressor(level=6).compress(data))
        return digest

    def get_bytes(self, digest: Digest) -> bytes:
        """Read some bytes and verify them.

        Raises:
            KeyMissing: no such blob.
            RecordError: the stored bytes do not have this digest.
            ValueError: not a digest.

        """
        key = blob_key(digest)
        if self.cache is None:
            return verify_blob(digest, self.store.get(key))
        kept = self.cache / key
        # Not there, or damaged: the store's is fetched and takes its place.
        with contextlib.suppress(OSError, RecordError):
            return verify_blob(digest, kept.read_bytes())
        stored = self.store.get(key)
        data = verify_blob(digest, stored)
        with contextlib.suppress(OSError):  # a full or read-only cache costs time only
            kept.parent.mkdir(parents=True, exist_ok=True)
            with replacing(kept) as stream:
                stream.write(stored)
        return data

    def put_tree(self, path: Path, leave_out: Collection[str] = NEVER_SEEDED) -> Digest:
        """Store a directory tree; returns the digest of its archive.

        Args:
            path: the directory.
            leave_out: names left out at any depth; `()` for none.

        Raises:
            InputError: the tree cannot be packed, see `pack_tree`.

        """
        return self.put_bytes(pack_tree(path, leave_out))

    def get_tree(self, digest: Digest, into: Path) -> None:
        """Write a stored tree into a directory that is empty or not there yet.

        Raises:
            RecordError: the blob is damaged, or no safe archive.

        """
        unpack_tree(self.get_bytes(digest), into)


def verify_blob(digest: Digest, stored: bytes) -> bytes:
    """Decompress a stored blob and check its digest; raises RecordError if it is damaged."""
    try:
        data = zstandard.ZstdDecompressor().decompress(stored)
    except zstandard.ZstdError as error:
        raise RecordError(f"blob {digest} is damaged: {error}") from None
    if digest_of(data) != digest:
        raise RecordError(f"blob {digest} is damaged: its content has another digest")
    return data
