"""Trees: one digest everywhere, and no archive that writes outside."""

from __future__ import annotations

import io
import os
import socket
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.errors import InputError, RecordError
from farm.model.scalars import digest_of
from farm.store.links import escaping
from farm.store.trees import pack_tree, unpack_tree


def a_tree(root: Path) -> Path:
    (root / "d" / "empty").mkdir(parents=True)
    (root / "d" / "run.sh").write_text("#!/bin/sh\n")
    (root / "d" / "run.sh").chmod(0o710)
    (root / "d-e").write_bytes(b"\x00\xff")
    (root / ("é" * 60)).write_text("long and not ASCII")
    (root / "link").symlink_to("d/run.sh")
    (root / "d" / "up").symlink_to("../d-e")
    (root / "dangling").symlink_to("nowhere/at/all")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("x")
    return root


def test_the_digest_is_this_one_on_every_machine(tmp_path):
    data = pack_tree(a_tree(tmp_path / "t"))
    assert digest_of(data) == "sha256:36058d439aa96825f17d971028714d0fe38d2de712c3a17e9b93455e5f76f588"


def test_what_does_not_matter_does_not_count(tmp_path):
    data = pack_tree(a_tree(tmp_path / "t"))
    before = os.umask(0o077)
    try:
        unpack_tree(data, tmp_path / "u")
    finally:
        os.umask(before)
    assert pack_tree(tmp_path / "u") == data
    assert (tmp_path / "u" / "d").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "u" / "d-e").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "u" / "d" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "u" / "d" / "empty").is_dir()
    assert os.readlink(tmp_path / "u" / "dangling") == "nowhere/at/all"
    os.utime(tmp_path / "u" / "d-e", (1, 1))
    (tmp_path / "u" / "d-e").chmod(0o600)
    assert pack_tree(tmp_path / "u") == data


def test_nothing_is_skipped_unless_asked(tmp_path):
    tree = a_tree(tmp_path / "t")
    with tarfile.open(fileobj=io.BytesIO(pack_tree(tree))) as archive:
        assert ".git/config" in archive.getnames()
    with tarfile.open(fileobj=io.BytesIO(pack_tree(tree, {".git", "run.sh"}))) as archive:
        assert not {".git", ".git/config", "d/run.sh"} & set(archive.getnames())


_name = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12).filter(
    lambda n: n not in (".", "..")
)
_trees = st.recursive(
    st.one_of(st.tuples(st.binary(max_size=600), st.booleans()), st.none()),
    lambda inner: st.dictionaries(_name, inner, max_size=4),
    max_leaves=12,
)


def _build(root: Path, tree: object) -> None:
    root.mkdir()
    for name, node in tree.items() if isinstance(tree, dict) else ():
        path = root / name
        if isinstance(node, dict):
            _build(path, node)
        elif node is None:
            path.symlink_to(".")
        else:
            path.write_bytes(node[0])
            path.chmod(0o700 if node[1] else 0o600)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(_name, _trees, max_size=5))
def test_packing_what_was_unpacked_gives_the_same_bytes(tree):
    with tempfile.TemporaryDirectory() as directory:
        _build(Path(directory, "a"), tree)
        packed = pack_tree(Path(directory, "a"))
        unpack_tree(packed, Path(directory, "b"))
        assert pack_tree(Path(directory, "b")) == packed


@pytest.mark.parametrize("target", ["/etc/passwd", "..", "../x", "d/../../x"])
def test_links_that_leave_are_not_packed(tmp_path, target):
    (tmp_path / "t" / "d").mkdir(parents=True)
    (tmp_path / "t" / "out").symlink_to(target)
    with pytest.raises(InputError, match="leaves the tree"):
        pack_tree(tmp_path / "t")


def test_links_are_followed_for_where_they_really_lead():
    assert escaping({"p/q/r": "../.."}) is None
    assert escaping({"p/q/r": "../..", "s": "p/q/r/../x"}) == "s"
    assert escaping({"a": "b", "b": "a"}) is None
    assert escaping({"a": "b/c", "b": "/"}) == "a"
    assert escaping({"a": "./b//../c"}) is None


def test_special_files_are_not_packed(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError, match="fifo"):
        pack_tree(tmp_path)
    (tmp_path / "fifo").unlink()
    before = Path.cwd()
    os.chdir(tmp_path)  # the path of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("sock")
            with pytest.raises(InputError, match="sock"):
                pack_tree(tmp_path)
    finally:
        os.chdir(before)


def test_what_is_no_directory_is_not_packed(tmp_path):
    (tmp_path / "f").write_text("")
    for path in (tmp_path / "f", tmp_path / "missing"):
        with pytest.raises(InputError, match="cannot be packed"):
            pack_tree(path)


def archive_of(*members: tuple[str, bytes, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind, target in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            member.size = 2 if kind == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(b"hi"))
    return buffer.getvalue()


FILE, LINK, HARD, FOLDER = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE


@pytest.mark.parametrize(
    "members",
    [
        [("../x", FILE, "")],
        [("a/../../x", FILE, "")],
        [("/tmp/x", FILE, "")],
        [("./x", FILE, "")],
        [("a//x", FILE, "")],
        [("out", LINK, "../x")],
        [("out", LINK, "/etc")],
        [("d", LINK, "."), ("d/x", FILE, "")],
        [("d/x", FILE, ""), ("d", LINK, ".")],
        [("p/q/r", LINK, "../.."), ("s", LINK, "p/q/r/../x")],
        [("x", FILE, ""), ("x", LINK, "y")],
        [("x", FILE, ""), ("y", HARD, "x")],
        [("dev", tarfile.CHRTYPE, "")],
        [("dev", tarfile.BLKTYPE, "")],
        [("fifo", tarfile.FIFOTYPE, "")],
        [("x", FILE, ""), ("x/y", FILE, "")],
        [("x", FILE, ""), ("x/", FOLDER, "")],
    ],
)
def test_hostile_archives_write_nothing(tmp_path, members):
    into = tmp_path / "in"
    with pytest.raises(RecordError, match="refused"):
        unpack_tree(archive_of(("good", FILE, ""), *members), into)
    assert not into.exists() and list(tmp_path.iterdir()) == []


def test_damaged_archives_are_records_that_cannot_be_read(tmp_path):
    good = archive_of(("x", FILE, ""))
    for number, bad in enumerate((b"", b"junk" * 400, good[:513], good[:300])):
        with pytest.raises(RecordError):
            unpack_tree(bad, tmp_path / str(number))


def test_a_tree_is_only_unpacked_into_an_empty_directory(tmp_path):
    (tmp_path / "d").symlink_to("/tmp")
    with pytest.raises(InputError, match="empty directory"):
        unpack_tree(archive_of(("d/x", FILE, "")), tmp_path)
    unpack_tree(archive_of(("made/on/the/way", FILE, "")), tmp_path / "new")
    assert (tmp_path / "new/made/on/the/way").read_bytes() == b"hi"
