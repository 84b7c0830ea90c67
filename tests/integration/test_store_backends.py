"""One suite over a directory and a real S3 API over HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zstandard

from farm.errors import Exit, InputError, RecordError, Unreachable
from farm.store import Blobs, KeyMissing, Store, StoreClass, open_store, probe
from farm.store.atomic import TEMPORARY
from farm.store.keys import blob_key
from tests.engines.s3 import s3_server


@pytest.fixture(scope="module")
def s3():
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture(params=["local", "s3"])
def store(request, tmp_path) -> Store:
    if request.param == "local":
        opened = open_store(str(tmp_path / "store"), {})
    else:
        opened = open_store(f"s3://bucket/{tmp_path.name}", request.getfixturevalue("s3").env)
    opened.ensure()
    opened.ensure()
    return opened


def keys(store, prefix=""):
    return [info.key for info in store.list(prefix)]


def test_objects(store):
    store.put("a/b", b"1")
    first = store.head("a/b")
    store.put("a/b", b"22")
    assert store.get("a/b") == b"22"
    assert store.head("a/b").size == 2 and store.head("a/b").etag != first.etag
    assert store.head("a/b") == next(store.list("a/"))
    assert store.head("a/c") is None and store.head("a") is None and store.head("a/b/c") is None
    for missing in ("a/c", "a", "a/b/c"):
        with pytest.raises(KeyMissing) as raised:
            store.get(missing)
        assert raised.value.exit_code == Exit.INFRASTRUCTURE
    store.put("empty", b"")
    assert store.get("empty") == b""
    store.delete("a/b")
    store.delete("a/b")
    store.delete("a")
    assert keys(store) == ["empty"] and store.children("") == ["empty"]


def test_listings_are_in_order_of_key(store):
    names = ["a", "b/a/x", "b/a-x", "b/a.x", "b/a0", "b/b", "c é/ü", "c\U0001f600"]
    for name in reversed(names):
        store.put(name, b"")
    assert keys(store) == sorted(names)
    assert keys(store, "b/") == sorted(n for n in names if n.startswith("b/"))
    assert keys(store, "b/a") == sorted(n for n in names if n.startswith("b/a"))
    assert keys(store, "b/a/") == ["b/a/x"] and keys(store, "none/") == [] and keys(store, "a/") == []
    assert store.children("") == sorted({n.split("/")[0] for n in names})
    assert store.children("b/") == ["a", "a-x", "a.x", "a0", "b"]
    assert store.children("none/") == [] and store.children("a/") == []


def test_listing_beyond_one_page(store):
    names = [f"many/{i:04d}/x" for i in range(1001)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda name: store.put(name, b""), names))
    assert keys(store, "many/") == names
    assert store.children("many/") == [f"{i:04d}" for i in range(1001)]


@pytest.mark.parametrize("key", ["", "/x", "../x", "a/../b", "a//b", "a/", ".", "a/./b", "a\0b"])
def test_keys_are_checked_before_anything_else(store, key, tmp_path):
    for act in (store.get, store.head, store.delete, lambda k: store.put(k, b""), lambda k: store.put_new(k, b"")):
        with pytest.raises(ValueError, match="not a key"):
            act(key)
    for act in (lambda k: store.get_file(k, tmp_path / "f"), lambda k: store.put_file(k, Path(__file__))):
        with pytest.raises(ValueError, match="not a key"):
            act(key)


@pytest.mark.parametrize("prefix", ["/", "/etc/", "../", "a/../../", "a//"])
def test_prefixes_are_checked(store, prefix):
    for act in (lambda p: list(store.list(p)), store.children):
        with pytest.raises(ValueError, match="not a key"):
            act(prefix)
    with pytest.raises(ValueError, match="not a key"):
        store.children("..")


def test_files(store, tmp_path):
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(bytes(range(256)) * 40_000)  # 10 MB: in parts on S3
    store.put_file("f/big", source)
    store.get_file("f/big", target)
    assert target.read_bytes() == source.read_bytes()
    assert store.head("f/big").size == source.stat().st_size
    with pytest.raises(KeyMissing):
        store.get_file("f/none", target)
    assert target.read_bytes() == source.read_bytes(), "untouched"
    with pytest.raises(FileNotFoundError):
        store.put_file("f/x", tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        store.get_file("f/big", tmp_path / "no" / "directory")
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "store") == ["in", "out"]


def test_exactly_one_of_many_writers_wins(store):
    for number in range(4):
        with ThreadPoolExecutor(12) as pool:
            won = list(pool.map(lambda i, n=number: store.put_new(f"race/{n}", b"%d" % i), range(12)))
        assert won.count(True) == 1
        assert store.get(f"race/{number}") == b"%d" % won.index(True)
    assert not store.put_new("race/0", b"late") and store.get("race/0") != b"late"


def test_writers_and_deleters_do_not_disturb_each_other(tmp_path):
    store = open_store(str(tmp_path / "s"), {})

    def work(number):
        key = f"a/b/{number}"
        for _ in range(60):
            assert store.put_new(key, b"x") and store.get(key) == b"x"
            assert key in keys(store) and store.children("a/") == ["b"]
            store.delete(key)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert keys(store) == [] and store.children("") == []


def test_the_probe_finds_it_atomic_and_leaves_nothing(store):
    assert probe(store) is StoreClass.ATOMIC
    assert keys(store) == []


def test_half_written_files_are_not_objects(tmp_path):
    store = open_store(str(tmp_path), {})
    store.put("d/x", b"")
    (tmp_path / "d" / f"{TEMPORARY}1").write_bytes(b"half")
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / f"{TEMPORARY}2").write_bytes(b"half")
    assert keys(store) == ["d/x"] and store.children("") == ["d"] and store.children("d/") == ["x"]
    with pytest.raises(ValueError, match="being written"):
        store.get(f"d/{TEMPORARY}1")


def test_a_directory_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    store = open_store(str(tmp_path / "file" / "store"), {})
    for act in (store.ensure, lambda: store.put("x", b""), lambda: store.put_new("x", b"")):
        with pytest.raises(Unreachable, match="Not a directory"):
            act()


def test_blobs(store, tmp_path):
    blobs = Blobs(store, tmp_path / "cache")
    digest = blobs.put_bytes(b"data" * 1000)
    etag = store.head(blob_key(digest))
    assert blobs.put_bytes(b"data" * 1000) == digest and store.head(blob_key(digest)) == etag
    assert store.head(blob_key(digest)).size < 4000
    assert Blobs(store).get_bytes(digest) == blobs.get_bytes(digest) == b"data" * 1000
    store.delete(blob_key(digest))
    assert blobs.get_bytes(digest) == b"data" * 1000, "from the cache"
    with pytest.raises(KeyMissing):
        Blobs(store).get_bytes(digest)
    (tmp_path / "cache" / blob_key(digest)).write_bytes(b"damaged")
    with pytest.raises(KeyMissing):
        blobs.get_bytes(digest)
    blobs.put_bytes(b"data" * 1000)
    assert blobs.get_bytes(digest) == b"data" * 1000
    assert zstandard.decompress((tmp_path / "cache" / blob_key(digest)).read_bytes()) == b"data" * 1000, "repaired"
    for bad, message in ((zstandard.compress(b"other"), "another digest"), (b"junk", "damaged")):
        store.put(blob_key(digest), bad)
        with pytest.raises(RecordError, match=message):
            Blobs(store).get_bytes(digest)
    for word in ("sha256:../../x", "x", "sha256:" + "A" * 64):
        with pytest.raises(ValueError, match="not a digest"):
            blobs.get_bytes(word)


def test_trees(store, tmp_path):
    tree = tmp_path / "tree"
    (tree / "d" / "empty").mkdir(parents=True)
    (tree / "d" / "x.sh").write_text("x")
    (tree / "link").symlink_to("d/x.sh")
    blobs = Blobs(store)
    digest = blobs.put_tree(tree)
    (tree / ".git").mkdir()
    assert blobs.put_tree(tree) == digest, "a repository is not seeded unless asked for"
    assert blobs.put_tree(tree, leave_out=()) != digest
    blobs.get_tree(digest, tmp_path / "out")
    assert (tmp_path / "out" / "link").read_text() == "x"
    assert blobs.put_tree(tmp_path / "out") == digest
    (tree / "out").symlink_to("../../etc")
    with pytest.raises(InputError, match="leaves the tree"):
        blobs.put_tree(tree)
