"""Does a store really enforce "write only if the key is free"? Asking is not enough: it takes a race."""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor

from farm.model.store_class import StoreClass
from farm.store.base import ConditionUnsupported, KeyMissing, Store

KEYS = 10
WRITERS = 12


def probe(store: Store) -> StoreClass:
    """Find the class of a store by racing writers in it.

    Two writes after each other tell NONE; then WRITERS threads write each of KEYS keys at the same moment.
    A key is sound if exactly one writer was told that it won and its bytes are what is stored. All
    keys lie below `.probe/` and are deleted again.

    Every writer has its own bytes: with equal ones, the read-back of `S3Store.put_new` after a lost
    reply could take another's object for its own.

    Raises:
        Unreachable: the store cannot be used.

    """
    root = f".probe/{secrets.token_hex(8)}"
    keys = [f"{root}/{number}" for number in range(KEYS)]
    calm = f"{root}/calm"
    try:
        try:
            first = store.put_new(calm, b"first")
            second = store.put_new(calm, b"second")
        except ConditionUnsupported:
            return StoreClass.NONE
        if not first or second or store.get(calm) != b"first":
            return StoreClass.NONE
        sound = all(_sound(store, key, told) for key, told in zip(keys, _race(store, keys), strict=True))
        return StoreClass.ATOMIC if sound else StoreClass.RACY
    finally:
        for key in (calm, *keys):
            store.delete(key)


def _race(store: Store, keys: list[str]) -> list[list[bool]]:
    """For each key, what each writer was told."""
    start = threading.Barrier(WRITERS)

    def write(writer: int) -> list[bool]:
        told = []
        try:
            for key in keys:
                start.wait()
                told.append(store.put_new(key, _body(writer)))
        except BaseException:
            start.abort()  # the others would wait for ever
            raise
        return told

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write, writer) for writer in range(WRITERS)]
    failures = [failure for writer in writers if (failure := writer.exception()) is not None]
    # What made the race end is told rather than that it ended.
    for failure in sorted(failures, key=lambda f: isinstance(f, threading.BrokenBarrierError)):
        raise failure
    return [list(told) for told in zip(*(writer.result() for writer in writers), strict=True)]


def _sound(store: Store, key: str, told: list[bool]) -> bool:
    try:
        return told.count(True) == 1 and store.get(key) == _body(told.index(True))
    except KeyMissing:
        return False


def _body(writer: int) -> bytes:
    return b"writer %d" % writer
