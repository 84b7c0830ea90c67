"""Downloading a run: incremental, and verified."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from farm.errors import RecordError
from farm.model.base import canonical_json
from farm.model.result import Result
from farm.model.steps import ProduceRecord
from farm.store.atomic import beside
from farm.store.base import Store
from farm.store.blobs import verify_blob
from farm.store.keys import RunKeys, blob_key

_INDEX = ".pulled.json"


class Pulled(NamedTuple):
    """What a pull did."""

    transferred: int
    unchanged: int
    repaired: int
    """Local files that no longer had the content they were pulled with, fetched again."""
    bytes: int


def pull_run(store: Store, run_id: str, into: Path) -> Pulled:
    """Bring a local copy of a run up to date.

    A file is transferred when the store's object is new or has another etag, or when the local file does
    not have the digest it was pulled with. Changes (blobs) named by the records come along, and every
    digest that a record states is checked.

    Raises:
        RecordError: an object in the store is not what a record says it is.

    """
    into.mkdir(parents=True, exist_ok=True)
    index_path = into / _INDEX
    try:
        index: dict[str, dict[str, str]] = json.loads(index_path.read_bytes())
    except (FileNotFoundError, ValueError):
        index = {}
    root = RunKeys(run_id).root
    transferred = unchanged = repaired = size = 0
    stated: dict[str, str] = {}
    for info in store.list(root):
        path = into / info.key.removeprefix(root)
        known = index.get(info.key)
        current = path.read_bytes() if path.is_file() else None
        if known and known["etag"] == info.etag and current is not None and _sha(current) == known["sha256"]:
            unchanged += 1
            data = current
        else:
            repaired += int(known is not None and known["etag"] == info.etag)
            data = store.get(info.key)
            _write(path, data)
            transferred, size = transferred + 1, size + len(data)
            index[info.key] = {"etag": info.etag, "sha256": _sha(data)}
        if path.name == "produce.json":
            record = ProduceRecord.from_bytes(data, info.key)
            stated |= {a.key: a.digest for a in (record.diff, record.transcript)}
            got = _pull_blob(store, record.delta, into, index)
            transferred, unchanged, size = transferred + got[0], unchanged + 1 - got[0], size + got[1]
        elif info.key.startswith(RunKeys(run_id).results):
            Result.from_bytes(data, info.key)
    for key, digest in stated.items():
        if key in index and "sha256:" + index[key]["sha256"] != digest:
            raise RecordError(f"{key} in {store.url} does not have the digest its record states")
    _write(index_path, canonical_json(index))
    return Pulled(transferred, unchanged, repaired, size)


def _pull_blob(store: Store, digest: str, into: Path, index: dict[str, dict[str, str]]) -> tuple[int, int]:
    key = blob_key(digest)
    path = into / key
    if path.is_file() and key in index and _sha(path.read_bytes()) == index[key]["sha256"]:
        return 0, 0
    data = store.get(key)
    verify_blob(digest, data)
    _write(path, data)
    index[key] = {"etag": digest, "sha256": _sha(data)}
    return 1, len(data)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not settled on the disk: what a crash takes is found by its digest and fetched again.
    with beside(path) as (temporary, stream):
        stream.write(data)
        stream.close()
        temporary.replace(path)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
