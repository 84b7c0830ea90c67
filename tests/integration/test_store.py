"""One suite over a directory and a real S3 API over HTTP."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard

from farm.errors import InputError, RecordError
from farm.store.base import KeyMissing
from farm.store.blobs import Blobs
from farm.store.keys import blob_key
from farm.store.open import open_store
from tests.engines.s3 import s3_server


@pytest.fixture(scope="module")
def s3():
    with s3_server() as env:
        yield env


@pytest.fixture(params=["local", "s3"])
def store(request, tmp_path, monkeypatch):
    if request.param == "local":
        opened = open_store(str(tmp_path / "store"))
    else:
        env = request.getfixturevalue("s3")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, env[name])
        opened = open_store(f"s3://bucket/{tmp_path.name}", env)
    opened.ensure()
    return opened


def test_objects(store):
    store.put("a/b", b"1")
    store.put("a/b", b"2")
    assert store.get("a/b") == b"2" and store.head("a/b").size == 1
    assert store.head("a/c") is None
    with pytest.raises(KeyMissing):
        store.get("a/c")
    store.put("a/c/d", b"3")
    assert [info.key for info in store.scan("a/")] == ["a/b", "a/c/d"]
    assert store.children("a/") == ["b", "c"]
    store.delete("a/b")
    store.delete("a/b")
    assert store.head("a/b") is None
    for bad in ("../x", "/x", "a//b", "a/../b", ""):
        with pytest.raises(ValueError, match="not a key"):
            store.put(bad, b"")


def test_exactly_one_of_many_writers_wins(store):
    for round_ in range(5):
        with ThreadPoolExecutor(12) as pool:
            won = list(pool.map(lambda i, r=round_: store.put_new(f"race/{r}", b"%d" % i), range(12)))
        assert won.count(True) == 1
        assert store.get(f"race/{round_}") == b"%d" % won.index(True)


def test_listing_beyond_one_page(store):
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda i: store.put(f"many/{i:05d}", b""), range(1050)))
    assert [info.key for info in store.scan("many/")] == [f"many/{i:05d}" for i in range(1050)]


def test_blobs_are_verified(store, tmp_path):
    blobs = Blobs(store)
    tree = tmp_path / "tree"
    (tree / "d").mkdir(parents=True)
    (tree / "d" / "x.sh").write_text("x")
    (tree / "d" / "x.sh").chmod(0o750)
    (tree / "link").symlink_to("d/x.sh")
    digest = blobs.put_tree(tree)
    os.utime(tree / "d" / "x.sh", (1, 1))
    assert blobs.put_tree(tree) == digest
    blobs.get_tree(digest, tmp_path / "out")
    assert (tmp_path / "out" / "link").read_text() == "x" and os.access(tmp_path / "out" / "d" / "x.sh", os.X_OK)
    store.put(blob_key(digest), zstandard.compress(b"other"))
    with pytest.raises(RecordError, match="another digest"):
        blobs.get(digest)


def test_trees_that_leave_are_refused(store, tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "out").symlink_to("../../etc")
    with pytest.raises(InputError, match="leaves the tree"):
        Blobs(store).put_tree(tmp_path / "t")
