"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".writing-"
"""Names with this beginning are files being written; no listing shows them."""


@contextmanager
def beside(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new temporary file in the directory of `path`, removed at the end unless it was moved.

    It is made with the mode that the umask gives, so that a shared directory stays readable for others.
    """
    temporary = path.parent / f"{TEMPORARY}{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as stream:
            yield temporary, stream
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream whose content becomes `path` at the end; after an error `path` is as it was."""
    with beside(path) as (temporary, stream):
        yield stream
        settle(stream)
        os.replace(temporary, path)


def settle(stream: BinaryIO) -> None:
    """Have the content on the disk before the name: a crash never leaves a name without its bytes."""
    stream.flush()
    os.fsync(stream.fileno())
