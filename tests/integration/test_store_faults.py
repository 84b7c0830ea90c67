"""S3 behind a bad line: lost replies, refusals, servers that ignore conditions."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from farm.errors import Unreachable
from farm.store import CommitOutcome, KeyMissing, StoreClass, commit_once, open_store, probe
from farm.store.commit import committed, read_committed
from tests.engines.s3 import Fate, proxy, s3_server


@pytest.fixture(scope="module")
def s3():
    with s3_server() as endpoint:
        open_store("s3://bucket", endpoint).ensure()
        yield endpoint


class Script:
    """Fates for the requests of one method, in turn; all others pass."""

    def __init__(self, method, *fates):
        self.method = method
        self.fates = list(fates)
        self.seen = 0
        self.lock = threading.Lock()

    def __call__(self, request):
        with self.lock:
            if request.method != self.method:
                return Fate.PASS
            self.seen += 1
            return self.fates.pop(0) if self.fates else Fate.PASS


def test_a_write_whose_reply_was_lost_is_ours(s3, tmp_path):
    script = Script("PUT", Fate.LOSE_REPLY, Fate.LOSE_REPLY)
    with proxy(s3, script) as bad:
        store = open_store(f"s3://bucket/{tmp_path.name}", bad)
        assert store.put_new("x", b"ours")
        assert script.seen == 3
        assert not store.put_new("x", b"ours"), "without a lost reply equal bytes are not ours"


def test_a_lost_reply_does_not_make_the_object_of_another_ours(s3, tmp_path):
    other = open_store(f"s3://bucket/{tmp_path.name}", s3)
    assert other.put_new("x", b"theirs")
    with proxy(s3, Script("PUT", Fate.LOSE_REPLY)) as bad:
        assert not open_store(other.url, bad).put_new("x", b"ours")
    assert other.get("x") == b"theirs"


@pytest.mark.parametrize(
    ("method", "act", "answer"),
    [
        ("PUT", lambda s, p: s.put_new("new", b"1"), True),
        ("PUT", lambda s, p: s.put("x", b"1"), None),
        ("PUT", lambda s, p: s.put_file("x", p), None),
        ("GET", lambda s, p: s.get("there"), b"there"),
        ("GET", lambda s, p: s.get_file("there", p), None),
        ("GET", lambda s, p: [i.key for i in s.list("")], ["there"]),
        ("HEAD", lambda s, p: s.head("there").size, 5),
        ("DELETE", lambda s, p: s.delete("there"), None),
    ],
)
def test_two_refusals_then_an_answer(s3, tmp_path, method, act, answer):
    open_store(f"s3://bucket/{tmp_path.name}", s3).put("there", b"there")
    (tmp_path / "f").write_bytes(b"f")
    script = Script(method, Fate.UNAVAILABLE, Fate.LOSE_REPLY)
    with proxy(s3, script) as bad:
        assert act(open_store(f"s3://bucket/{tmp_path.name}", bad), tmp_path / "f") == answer
    assert script.seen == 3


def test_patience_ends(s3):
    script = Script("GET", *[Fate.UNAVAILABLE] * 1000)
    with proxy(s3, script) as bad:
        store = open_store("s3://bucket", {**bad, "FARM_S3_PATIENCE": "0.3"})
        with pytest.raises(Unreachable, match=f"s3://bucket at {bad.url}: 503"):
            store.get("x")
        assert script.seen > 1


def test_what_stays_wrong_is_not_retried(s3):
    script = Script("GET")
    with proxy(s3, script) as line:
        with pytest.raises(KeyMissing):
            open_store("s3://bucket", line).get("never-there")
        assert script.seen == 1
        with pytest.raises(Unreachable, match="the bucket does not exist"):
            open_store("s3://no-such-bucket", line).get("x")
        assert script.seen == 2


def test_missing_credentials_are_named(s3, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(Unreachable, match="set AWS_ACCESS_KEY_ID"):
        open_store("s3://bucket", {"FARM_S3_ENDPOINT_URL": s3.url}).put("x", b"")


def test_a_port_where_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        env = {
            "FARM_S3_ENDPOINT_URL": f"http://127.0.0.1:{free.getsockname()[1]}",
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "hidden",
            "FARM_S3_PATIENCE": "0",
        }
        with pytest.raises(Unreachable, match="is it up, and is FARM_S3_ENDPOINT_URL right") as raised:
            open_store("s3://bucket", env).ensure()
    assert "hidden" not in str(raised.value)


def test_a_server_that_ignores_the_condition(s3, tmp_path):
    """Every commit is still counted once, by fenced keys."""

    def ignore(request):
        request.headers.pop("if-none-match", None)
        return Fate.PASS

    with proxy(s3, ignore) as weak:
        store = open_store(f"s3://bucket/{tmp_path.name}", weak)
        assert probe(store) is StoreClass.NONE
        assert list(store.list("")) == []
        cells = [f"results/s/v/{trial}.json" for trial in range(4)]
        with ThreadPoolExecutor(8) as pool:
            told = list(
                pool.map(
                    lambda job: (job, commit_once(store, StoreClass.NONE, job[0], job[1], b"%d" % job[1])),
                    [(cell, fence) for fence in (12, 9, 30) for cell in cells],
                )
            )
        found = dict(committed(store, "results/"))
        assert sorted(found) == cells and len(list(committed(store, "results/"))) == len(cells)
        for cell in cells:
            record = read_committed(store, cell)
            assert store.get(found[cell].key) == record
            assert ((cell, int(record)), CommitOutcome.WON) in told
        store.put_new(cells[0], b"plain")
        assert read_committed(store, cells[0]) == b"plain"
        assert [key for key, _ in committed(store, "results/")] == cells
