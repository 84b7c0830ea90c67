"""Taking a change out of a tree that may be hostile."""

from __future__ import annotations

import os
import subprocess

import pytest

from farm.model.limits import Limits
from workers.worktree import (
    TooBig,
    apply_change,
    change_between,
    diff_of,
    pack_change,
    printable,
    read_inside,
    seed,
    snapshot,
)

LIMITS = Limits()


@pytest.fixture
def trees(tmp_path):
    fixture = tmp_path / "fixture"
    (fixture / "src").mkdir(parents=True)
    (fixture / "src" / "a.py").write_text("one\ntwo\nthree\n" * 10)
    (fixture / "test_a.py").write_text("test\n")
    (fixture / "run.sh").write_text("echo\n")
    before, after = tmp_path / "before", tmp_path / "after"
    seed(before, [[fixture]])
    seed(after, [[fixture]])
    return before, after


def taken(before, after):
    old, new = snapshot(before, LIMITS), snapshot(after, LIMITS)
    change = change_between(old, new)
    return old, new, change, diff_of(before, after, old, new, change, LIMITS)


def test_seed_is_one_commit_and_reproducible(trees):
    log = [subprocess.check_output(["git", "-C", tree, "log", "--format=%H"], text=True) for tree in trees]
    assert log[0] == log[1] and log[0].count("\n") == 1


@pytest.mark.parametrize("name", [".git", ".GIT"])
def test_a_layers_own_repository_runs_nothing(tmp_path, name):
    layer, flag = tmp_path / "layer", tmp_path / "ran"
    subprocess.check_call(["git", "init", "-q", layer])
    with (layer / ".git" / "config").open("a") as config:
        config.write(f'[filter "x"]\n\tclean = touch {flag}; cat\n')
    (layer / ".gitattributes").write_text("* filter=x\n")
    (layer / "a").write_text("a")
    (layer / ".git").rename(layer / name)
    seed(tmp_path / "tree", [[layer]])
    assert not flag.exists() and not (tmp_path / "tree" / ".GIT").exists()
    assert "filter" not in (tmp_path / "tree" / ".git" / "config").read_text()


def test_every_kind_of_change_is_seen(trees):
    before, after = trees
    (after / "test_a.py").unlink()
    (after / "src" / "a.py").rename(after / "src" / "b.py")
    (after / "run.sh").chmod(0o755)
    (after / "bin").write_bytes(b"\0\1\2")
    (after / "link").symlink_to("/etc/passwd")
    (after / "empty").mkdir()
    (after / "naïve -- \n name").write_text("x\n")
    (after / ".gitignore").write_text("*\n")
    (after / ".gitattributes").write_text("* -diff\n")
    _, _, change, diff = taken(before, after)
    assert set(change.removed) == {"test_a.py", "src/a.py"}
    assert {"src/b.py", "run.sh", "bin", "link", "empty", "naïve -- \n name", ".gitignore"} <= set(change.changed)
    patch = diff.patch.decode()
    assert "rename to src/b.py" in patch and "new mode 100755" in patch and "deleted file" in patch
    assert "root:" not in patch
    assert (diff.added, diff.removed) == (4, 1)  # link, odd name, ignore, attributes; the test


def test_commits_by_the_producer_are_seen(trees):
    before, after = trees
    (after / "new.py").write_text("x\n")
    git = ["git", "-C", after, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.check_call([*git, "add", "-A"])
    subprocess.check_call([*git, "commit", "-qm", "hidden"])
    assert taken(before, after)[2].changed == ("new.py",)


def test_nothing_of_the_tree_is_executed(trees, tmp_path):
    before, after = trees
    flag = tmp_path / "executed"
    (after / ".git" / "config").write_text(f'[core]\n\tfsmonitor = "touch {flag}"\n[diff]\n\texternal = touch {flag}\n')
    (after / "new").write_text("x")
    taken(before, after)
    assert not flag.exists()


def test_specials_are_listed_and_giants_bounded(trees):
    _before, after = trees
    os.mkfifo(after / "pipe")
    with (after / "giant").open("wb") as stream:
        stream.truncate(10 << 30)
    (after / "inner" / ".git").mkdir(parents=True)
    found = snapshot(after, LIMITS).skipped
    assert [line.split(":")[0] for line in found] == ["giant", "inner/.git", "pipe"]
    with pytest.raises(TooBig):
        snapshot(after, Limits(files=2))


def test_a_change_applies_to_a_pristine_tree_and_equal_ones_have_equal_bytes(trees, tmp_path):
    before, after = trees
    (after / "test_a.py").unlink()
    (after / "src" / "a.py").write_text("changed\n")
    (after / "deep" / "er").mkdir(parents=True)
    (after / "deep" / "er" / "f").write_text("f")
    _, new, change, _ = taken(before, after)
    packed = pack_change(after, new, change, LIMITS)
    os.utime(after / "src" / "a.py", (1, 1))
    assert pack_change(after, snapshot(after, LIMITS), change, LIMITS) == packed
    assert apply_change(packed, before, lambda path: False) == []
    assert snapshot(before, LIMITS).entries == new.entries


def test_protected_paths_stay_pristine_and_are_named(trees):
    before, after = trees
    (after / "test_a.py").write_text("pass\n")
    (after / "conftest.py").write_text("cheat\n")
    (after / "src" / "a.py").write_text("changed\n")
    _, new, change, _ = taken(before, after)
    packed = pack_change(after, new, change, LIMITS)
    assert apply_change(packed, before, lambda p: p in ("test_a.py", "conftest.py")) == ["conftest.py", "test_a.py"]
    assert (before / "test_a.py").read_text() == "test\n" and not (before / "conftest.py").exists()
    assert (before / "src" / "a.py").read_text() == "changed\n"


def test_reading_does_not_follow_links(trees):
    before, _ = trees
    (before / "out").symlink_to("/etc")
    (before / "passwd").symlink_to("/etc/passwd")
    assert read_inside(before, "out/passwd", 99) is None and read_inside(before, "passwd", 99) is None
    assert read_inside(before, "test_a.py", 99) == b"test\n"


def test_printable():
    assert printable("a\x1b[31m\n") == "a\\x1b[31m\\n"
