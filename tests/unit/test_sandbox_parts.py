"""The parts of the sandbox layer that need no engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from farm.errors import Unreachable
from farm.model.limits import Limits
from workers.sandbox import process
from workers.sandbox.base import CappedOutput, Command, Mount
from workers.sandbox.docker import DockerSandbox
from workers.sandbox.docker_options import DEADLINE_LABEL, FARM_LABEL, labels_of
from workers.sandbox.open import open_sandbox
from workers.sandbox.process import PlainSandbox, _list_on_host, _on_host


def command(**fields: Any) -> Command:
    defaults: dict[str, Any] = {
        "argv": ("true",), "mounts": (), "workdir": "/", "env": {}, "deadline": 1.0, "limits": Limits(),
    }  # fmt: skip
    return Command(**{**defaults, **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"argv": ()},
        {"deadline": 0},
        {"workdir": "work"},
        {"workdir": "/work/../etc"},
        {"mounts": (Mount(Path("/x"), "relative"),)},
        {"env": {"NOT-A-NAME": "x"}},
        {"env": {"A": "nul\0"}},
    ],
)
def test_impossible_commands_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        command(**fields)


def test_capped_output() -> None:
    output = CappedOutput(5)
    for chunk in (b"abc", b"de"):
        output.feed(chunk)
    assert (output.data, output.truncated) == (b"abcde", False)
    output.feed(b"f")
    assert (output.data, output.truncated) == (b"abcde", True)


def test_plain_translation_takes_the_innermost_target() -> None:
    mounts = (Mount(Path("/host/w"), "/work"), Mount(Path("/host/i"), "/work/in"))
    c = command(mounts=mounts)
    assert _on_host("/work", c) == "/host/w"
    assert _on_host("/work/in/x", c) == "/host/i/x"
    assert _on_host("/workshop", c) == "/workshop"
    assert _on_host("cat /work", c) == "cat /work"
    assert _list_on_host("/a:/work/b", c) == "/a:/host/w/b"


def test_our_labels_win() -> None:
    labels = labels_of(command(labels={FARM_LABEL: "0", DEADLINE_LABEL: "x", "run": "r"}))
    assert labels[FARM_LABEL] == "1"
    assert float(labels[DEADLINE_LABEL]) > 0
    assert labels["run"] == "r"


def test_without_bubblewrap_the_plain_process_warns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "why_not", lambda: "gone")
    process.process_sandbox.cache_clear()
    try:
        sandbox = open_sandbox("process")
        assert isinstance(sandbox, PlainSandbox)
        assert not sandbox.info().isolates
        assert open_sandbox("process") is sandbox
        assert capsys.readouterr().out.count("NO ISOLATION") == 1
    finally:
        process.process_sandbox.cache_clear()


def test_an_engine_that_does_not_answer(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="no Docker engine answers"):
        DockerSandbox(f"unix://{tmp_path}/none.sock").info()
