"""Committed exactly once, whatever the store is worth."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.errors import Unreachable
from farm.store import CommitOutcome, KeyMissing, StoreClass, commit_once, probe
from farm.store.base import ConditionUnsupported, ObjectInfo
from farm.store.commit import committed, read_committed
from farm.store.local import LocalStore

WON, LOST = CommitOutcome.WON, CommitOutcome.LOST


class Racy(LocalStore):
    """Checks, then writes."""

    def put_new(self, key: str, data: bytes) -> bool:
        if self.head(key) is not None:
            return False
        time.sleep(0.005)
        self.put(key, data)
        return True


class Careless(LocalStore):
    """Knows no condition."""

    def put_new(self, key: str, data: bytes) -> bool:
        self.put(key, data)
        return True


class Honest(LocalStore):
    """Knows no condition, and says so."""

    def put_new(self, key: str, data: bytes) -> bool:
        raise ConditionUnsupported("501")


class Broken(LocalStore):
    """Fails once the race is on."""

    def put_new(self, key: str, data: bytes) -> bool:
        if key.endswith("/3") and data == b"writer 5":
            raise Unreachable("gone")
        return super().put_new(key, data)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (LocalStore, StoreClass.ATOMIC),
        (Racy, StoreClass.RACY),
        (Careless, StoreClass.NONE),
        (Honest, StoreClass.NONE),
    ],
)
def test_the_probe_tells_stores_apart_and_cleans_up(tmp_path, kind, found):
    store = kind(tmp_path / "s")
    assert probe(store) is found
    assert list(store.list("")) == [] and store.children("") == []


def test_a_probe_that_cannot_be_made_is_no_class(tmp_path):
    store = Broken(tmp_path)
    with pytest.raises(Unreachable, match="gone"):
        probe(store)
    assert list(store.list("")) == []


def test_an_atomic_store_holds_the_plain_key(tmp_path):
    store = LocalStore(tmp_path)
    assert commit_once(store, StoreClass.ATOMIC, "r/x.json", 7, b"a") is WON
    assert commit_once(store, StoreClass.ATOMIC, "r/x.json", 3, b"b") is LOST
    assert [i.key for i in store.list("")] == ["r/x.json"]
    assert read_committed(store, "r/x.json") == b"a"


@pytest.mark.parametrize("weak", [StoreClass.RACY, StoreClass.NONE])
def test_a_weak_store_holds_fenced_keys(tmp_path, weak):
    store = LocalStore(tmp_path)
    with pytest.raises(KeyMissing):
        read_committed(store, "r/x.json")
    assert commit_once(store, weak, "r/x.json", 7, b"a") is WON
    assert commit_once(store, weak, "r/x.json", 7, b"a") is WON, "the same lease again"
    assert commit_once(store, weak, "r/x.json", 3, b"b") is LOST, "a late one does not replace what was read"
    assert commit_once(store, weak, "r/x.json", 9, b"c") is LOST
    assert [i.key for i in store.list("")] == [f"r/x/{7:020d}.json"]
    assert read_committed(store, "r/x.json") == b"a"
    store.put(f"r/x/{5:020d}.json", b"at the same moment")
    assert read_committed(store, "r/x.json") == b"at the same moment"
    store.put("r/x.json", b"plain")
    assert read_committed(store, "r/x.json") == b"plain"
    assert commit_once(store, weak, "r/x.json", 7, b"a") is LOST


def test_racing_writers_on_a_weak_store_leave_one_record(tmp_path):
    store = Careless(tmp_path)
    for number in range(5):
        key = f"r/{number}.json"
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(lambda f, k=key: commit_once(store, StoreClass.NONE, k, f, b"%d" % f), range(8)))
        assert WON in told
        assert told[int(read_committed(store, key))] is WON
    assert [key for key, _ in committed(store, "r/")] == [f"r/{number}.json" for number in range(5)]


def test_bad_keys_and_fences():
    for key, fence in (("x", 1), ("x.json", -1), ("x.json", 10**20), ("../x.json", 1)):
        with pytest.raises(ValueError):
            commit_once(None, StoreClass.NONE, key, fence, b"")  # type: ignore[arg-type]


class Listed(LocalStore):
    """A listing alone."""

    def __init__(self, keys: set[str]):
        self.keys = keys

    def list(self, prefix):
        return iter([ObjectInfo(key, 0, "") for key in sorted(self.keys) if key.startswith(prefix)])


_stem = st.sampled_from(["a", "a.b", "a-b", "a0", "a/a", "a.b/c", "1", "10", "1.x", "z"])
_fence = st.integers(0, 3)


@given(st.sets(st.one_of(_stem.map(lambda s: s + ".json"), st.tuples(_stem, _fence), _stem.map(lambda s: s + ".txt"))))
def test_mixed_listings_give_each_record_once(made):
    keys = {k if isinstance(k, str) else f"{k[0]}/{k[1]:020d}.json" for k in made}
    expected: dict[str, str] = {}
    for item in made:
        if isinstance(item, tuple):
            plain = item[0] + ".json"
            fenced = f"{item[0]}/{item[1]:020d}.json"
            expected[plain] = plain if plain in keys else min(expected.get(plain, fenced), fenced)
        elif item.endswith(".json"):
            expected[item] = item
    found = [(key, info.key) for key, info in committed(Listed(keys), "")]
    assert len(found) == len(expected) and dict(found) == expected
