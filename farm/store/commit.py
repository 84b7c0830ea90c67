"""Commit a record once, on stores that enforce the condition and on those that do not.

An atomic store holds `…/x.json`, written by `put_new`. A weaker one holds `…/x/<fence>.json` for each
writer; the record is the one of the lowest fence. Readers take both forms, mixed ones too (a store that
was replaced half way through a run): the plain key wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from farm.model.store_class import StoreClass
from farm.store.base import KeyMissing, ObjectInfo, Store, check_key

_FENCED = re.compile(r"(?P<stem>.+)/(?P<fence>[0-9]{20})\.json")


class CommitOutcome(StrEnum):
    """Whether the record of a call is the committed one."""

    WON = "won"
    LOST = "lost"


def commit_once(store: Store, store_class: StoreClass, key: str, fence: int, data: bytes) -> CommitOutcome:
    """Commit `data` as the record `key`, unless there is one.

    On a store that is not atomic the outcome is what could be seen: writers at the very same moment can
    each be told WON, and the record then is the lowest fence's. `read_committed` and `committed`
    always give one record; nothing must be counted by outcomes.

    Args:
        store: where to.
        store_class: what `probe` found.
        key: a key that ends in `.json`.
        fence: the lease's number, at least 0; two writers never share one.
        data: the record.

    Raises:
        ValueError: `key` does not end in `.json`, or `fence` does not have 1 to 20 digits.

    """
    fenced = _fenced_key(key, fence)
    if store_class is StoreClass.ATOMIC:
        return CommitOutcome.WON if store.put_new(key, data) else CommitOutcome.LOST
    # Looking first keeps a late writer with a low fence from replacing a record that was read already.
    if _winner(store, key) not in (None, fenced):
        return CommitOutcome.LOST
    store.put(fenced, data)
    return CommitOutcome.WON if _winner(store, key) == fenced else CommitOutcome.LOST


def read_committed(store: Store, key: str) -> bytes:
    """The committed record, by its plain key, in either form.

    Raises:
        KeyMissing: nothing is committed.

    """
    try:
        return store.get(key)
    except KeyMissing:
        first = _first_fenced(store, key)
        if first is None:
            raise
        return store.get(first)


def committed(store: Store, prefix: str) -> Iterator[tuple[str, ObjectInfo]]:
    """Every committed record below a prefix, exactly once.

    Gives its plain key and the object that holds it (whose key differs in the fenced form), in order of
    the objects' keys. Only keys that end in `.json` are records.

    Args:
        store: where to look.
        prefix: a directory above the records; empty or ending in `/`.

    """
    # Stems of records given whose fenced keys may still come: "x.json" sorts before "x/…", with "x.y…" between.
    given: list[str] = []
    for info in store.list(prefix):
        if not info.key.endswith(".json"):
            continue
        given = [stem for stem in given if info.key < stem + "0"]  # "0" follows "/"
        fenced = _FENCED.fullmatch(info.key)
        stem = fenced["stem"] if fenced else info.key.removesuffix(".json")
        if stem not in given:
            given.append(stem)
            yield stem + ".json", info


def _fenced_key(key: str, fence: int) -> str:
    if not check_key(key).endswith(".json") or not 0 <= fence < 10**20:
        raise ValueError(f"cannot commit {key!r} with fence {fence}: a key ends in .json, a fence has up to 20 digits")
    return f"{key.removesuffix('.json')}/{fence:020d}.json"


def is_committed(store: Store, key: str) -> bool:
    """Whether there is a record, in either form."""
    return _winner(store, key) is not None


def _winner(store: Store, key: str) -> str | None:
    return key if store.head(key) is not None else _first_fenced(store, key)


def _first_fenced(store: Store, key: str) -> str | None:
    stem = key.removesuffix(".json")
    found = (info.key for info in store.list(stem + "/"))
    return next((k for k in found if (match := _FENCED.fullmatch(k)) and match["stem"] == stem), None)
