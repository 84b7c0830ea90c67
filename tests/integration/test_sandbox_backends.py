"""One suite over the three backends, with real engines."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from farm.model.limits import Limits
from tests.conftest import need
from tests.engines import docker as engines
from workers.sandbox import bwrap
from workers.sandbox.base import Command, Finished, Mount, Sandbox, SandboxError, Stopped
from workers.sandbox.bwrap import BwrapSandbox
from workers.sandbox.docker import DockerSandbox
from workers.sandbox.docker_options import create, new_name
from workers.sandbox.images import BASE_IMAGE, build_base_image
from workers.sandbox.process import PlainSandbox

SURVIVOR = "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep {0}\" &) ; sleep {0}"


def _sandbox(name: str, request: pytest.FixtureRequest) -> Sandbox:
    if name == "docker":
        return DockerSandbox(request.getfixturevalue("docker_engine").host)
    if name == "bwrap":
        reason = bwrap.why_not()
        if reason:
            need(f"no bubblewrap: {reason}")
        return BwrapSandbox()
    return PlainSandbox()


@pytest.fixture(params=["docker", "bwrap", "plain"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return _sandbox(request.param, request)


@pytest.fixture(params=["docker", "bwrap"])
def isolating(request: pytest.FixtureRequest) -> Sandbox:
    return _sandbox(request.param, request)


@pytest.fixture
def docker(request: pytest.FixtureRequest) -> DockerSandbox:
    return DockerSandbox(request.getfixturevalue("docker_engine").host)


@pytest.fixture
def tree() -> Iterator[Path]:
    # Not tmp_path: its parents are closed to the sandbox's user.
    path = Path(tempfile.mkdtemp(prefix="tree-"))
    path.chmod(0o755)
    (path / "seed.txt").write_text("seed\n")
    yield path
    shutil.rmtree(path)


def run(
    sandbox: Sandbox, *argv: str, tree: Path | None = None, stop: threading.Event | None = None, **fields: Any
) -> Finished:
    mounts = [Mount(tree, "/work", read_only=False), Mount(tree, "/farm/ro")] if tree else []
    if tree:
        uid = sandbox.info().uid
        for path in (tree, *tree.iterdir()):
            os.chown(path, uid, uid)
    else:
        fields.setdefault("workdir", "/")
    defaults: dict[str, Any] = {"workdir": "/work", "env": {}, "deadline": 30.0, "limits": Limits()}
    return sandbox.run(Command(argv=argv, mounts=tuple(mounts), **{**defaults, **fields}), stop)


def alive(marker: str) -> list[str]:
    """Command lines of all processes of the host that contain `marker`."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            lines.append(line)
    return lines


@pytest.mark.parametrize(
    ("script", "code"), [("true", 0), ("exit 3", 3), ("kill -9 $$", 137), ("no-such-program", 127)]
)
def test_exit_codes(sandbox: Sandbox, script: str, code: int) -> None:
    done = run(sandbox, "sh", "-c", script)
    assert (done.exit_code, done.timed_out, done.oom) == (code, False, False)


def test_a_missing_program_is_the_commands_own_failure(sandbox: Sandbox) -> None:
    assert run(sandbox, "no-such-program").exit_code == 127


def test_output_is_merged_in_order(sandbox: Sandbox) -> None:
    done = run(sandbox, "sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2")
    assert done.output == b"1\n2\n3\n4\n"
    assert not done.output_truncated


def test_output_is_capped_and_the_command_ends_as_usual(sandbox: Sandbox) -> None:
    done = run(sandbox, "sh", "-c", "yes | head -c 3000000; exit 7", limits=Limits(output=1001))
    assert done.output == (b"y\n" * 501)[:1001]
    assert done.output_truncated
    assert done.exit_code == 7


def test_output_exactly_at_the_cap_is_whole(sandbox: Sandbox) -> None:
    done = run(sandbox, "printf", "12345", limits=Limits(output=5))
    assert (done.output, done.output_truncated) == (b"12345", False)


def test_a_command_that_closes_its_output_is_still_followed(sandbox: Sandbox) -> None:
    assert run(sandbox, "sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 4").exit_code == 4


def test_the_deadline_kills_and_output_so_far_is_kept(sandbox: Sandbox) -> None:
    done = run(sandbox, "sh", "-c", "trap '' TERM; echo before; sleep 1000", deadline=0.7)
    assert (done.exit_code, done.timed_out, done.output) == (None, True, b"before\n")


def test_nothing_survives_the_deadline(isolating: Sandbox) -> None:
    marker = f"4242{os.getpid()}"
    assert run(isolating, "sh", "-c", SURVIVOR.format(marker), deadline=0.7).timed_out
    assert alive(marker) == []


def test_nothing_survives_a_normal_end(isolating: Sandbox) -> None:
    marker = f"4343{os.getpid()}"
    assert run(isolating, "sh", "-c", f"(setsid sleep {marker} &); sleep 0.2; exit 0").exit_code == 0
    assert alive(marker) == []


def test_stop_ends_a_run(sandbox: Sandbox) -> None:
    stop = threading.Event()
    timer = threading.Timer(0.7, stop.set)
    timer.start()
    marker = f"4444{os.getpid()}"
    with pytest.raises(Stopped):
        run(sandbox, "sh", "-c", f"trap '' TERM; sleep {marker}; true", stop=stop)
    assert alive(marker) == []


def test_a_stopped_run_is_never_started(sandbox: Sandbox, tree: Path) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        run(sandbox, "touch", "started", tree=tree, stop=stop)
    assert not (tree / "started").exists()


def test_the_environment_is_the_commands_alone(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FARM_SECRET", "hunter2")
    done = run(sandbox, "env", env={"GIVEN": 'it\'s "quoted"\n$HOME'})
    assert b"hunter2" not in done.output
    assert b'GIVEN=it\'s "quoted"\n$HOME\n' in done.output
    for name in (b"PATH=", b"HOME=", b"LANG="):
        assert name in done.output


def test_mounts_and_workdir(sandbox: Sandbox, tree: Path) -> None:
    done = run(sandbox, "sh", "-c", "cat seed.txt; echo new > new.txt", tree=tree)
    assert (done.exit_code, done.output) == (0, b"seed\n")
    assert (tree / "new.txt").read_text() == "new\n"


def test_words_that_begin_with_a_mount_target_name_it(sandbox: Sandbox, tree: Path) -> None:
    assert run(sandbox, "cat", "/farm/ro/seed.txt", tree=tree).output == b"seed\n"
    script = 'cat "${LIST#*:}/seed.txt"'
    assert run(sandbox, "sh", "-c", script, tree=tree, env={"LIST": "/x:/work"}).output == b"seed\n"


@pytest.mark.parametrize("target", ["/farm/ro/x", "/x", "/etc/x", "/usr/bin/x"])
def test_only_what_is_given_can_be_written(isolating: Sandbox, tree: Path, target: str) -> None:
    assert run(isolating, "touch", target, tree=tree).exit_code == 1
    assert not (tree / "x").exists()


def test_scratch_places_can_be_written_and_run_from(isolating: Sandbox) -> None:
    script = "for d in /tmp $HOME; do printf '#!/bin/sh\necho ran\n' > $d/x; chmod +x $d/x; $d/x; done"
    assert run(isolating, "sh", "-c", script).output == b"ran\nran\n"


def test_commands_run_unprivileged(isolating: Sandbox) -> None:
    done = run(isolating, "sh", "-c", "id -u; grep -E 'Cap(Eff|Prm|Inh|Amb)|NoNewPrivs' /proc/self/status")
    uid, *rest = done.output.decode().split("\n", 1)
    assert uid != "0"
    assert {line.split()[1] for line in rest[0].splitlines()} == {"0" * 16, "1"}


def test_the_hosts_files_and_processes_are_not_there(isolating: Sandbox, tree: Path) -> None:
    done = run(isolating, "sh", "-c", f"test -e {tree} && echo found; ls -d /proc/[0-9]* | wc -l")
    assert done.output.strip().isdigit()
    assert int(done.output) < 10


def test_no_network_not_even_the_hosts_loopback(isolating: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        with socket.create_connection(("127.0.0.1", port), 2):
            done = run(isolating, "python3", "-c", script)
    assert done.exit_code == 1
    assert b"refused" in done.output.lower() or b"unreachable" in done.output.lower()


def test_the_memory_limit_is_seen(isolating: Sandbox) -> None:
    if "memory" not in isolating.info().enforces:
        pytest.skip("this backend bounds single processes only here")
    limits = Limits(memory=64 << 20)
    done = run(isolating, "python3", "-c", "x = b'a' * (300 << 20)", limits=limits)
    assert (done.oom, done.exit_code) == (True, 137)
    child = "python3 -c 'x = b\"a\" * (300 << 20)'; exit 0"
    done = run(isolating, "sh", "-c", child, limits=limits)
    assert (done.oom, done.exit_code) == (True, 0)


def test_the_pids_limit_holds(isolating: Sandbox) -> None:
    if "pids" not in isolating.info().enforces:
        pytest.skip("not enforced here")
    script = "for i in $(seq 100); do sleep 5 & done; echo all"
    assert b"all" not in run(isolating, "sh", "-c", script, limits=Limits(pids=20), deadline=10).output


def test_no_file_grows_beyond_the_tree_limit(sandbox: Sandbox, tree: Path) -> None:
    done = run(sandbox, "sh", "-c", "head -c 100000 /dev/zero > big", tree=tree, limits=Limits(tree=4096))
    assert done.exit_code != 0
    assert (tree / "big").stat().st_size == 4096


def test_runs_in_parallel_do_not_mix(isolating: Sandbox) -> None:
    results: dict[int, bytes] = {}

    def one(number: int) -> None:
        results[number] = run(isolating, "sh", "-c", f"sleep 0.1; echo {number}").output

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: f"{number}\n".encode() for number in range(4)}


def test_a_mount_that_does_not_exist_is_not_the_commands_fault(isolating: Sandbox) -> None:
    with pytest.raises(SandboxError):
        isolating.run(Command(("true",), (Mount(Path("/no/such"), "/work"),), "/work", {}, 10, Limits()))


def test_docker_info_and_images(docker: DockerSandbox) -> None:
    assert docker.info().isolates
    assert {"memory", "pids", "network"} <= docker.info().enforces
    assert docker.has_image("evalfarm/base:1")
    assert not docker.has_image("no/such:1")


def test_docker_missing_image(docker: DockerSandbox) -> None:
    with pytest.raises(SandboxError, match="no/such:1"):
        run(docker, "true", image="no/such:1")


def test_docker_leaves_no_container(docker: DockerSandbox) -> None:
    run(docker, "true")
    run(docker, "sleep", "100", deadline=0.3)
    assert docker.reap({}) == 0


def test_docker_reaps_by_label(docker: DockerSandbox) -> None:
    api = docker._client().api
    for owner in ("a", "a", "b"):
        command = Command(("sleep", "99"), (), "/", {}, 60, Limits(), labels={"worker": owner})
        name = new_name()
        create(api, name, "evalfarm/base:1", command)
        api.start(name)
    assert docker.reap_expired() == 0
    assert docker.reap({"worker": "a"}) == 2
    assert docker.reap({"worker": "a"}) == 0
    assert docker.reap_expired(now=4e9) == 1


def test_docker_killed_from_outside_is_infrastructure(docker: DockerSandbox) -> None:
    api = docker._client().api

    def kill() -> None:
        (container,) = api.containers(filters={"label": "victim=1"})
        api.kill(container["Id"])

    timer = threading.Timer(1.5, kill)
    timer.start()
    with pytest.raises(SandboxError, match="outside"):
        run(docker, "sleep", "100", labels={"victim": "1"})
    timer.join()


def test_docker_silence_longer_than_the_client_timeout(docker_engine: engines.DockerEngine) -> None:
    done = run(DockerSandbox(docker_engine.host, timeout=2), "sh", "-c", "sleep 3; echo late")
    assert done.output == b"late\n"


def test_docker_base_image_tools(docker: DockerSandbox) -> None:
    script = """
    set -e
    python3 -c 'import unittest, json, sqlite3, ssl, ctypes, dataclasses, venv'
    cd /tmp; git init -q r; cd r; echo a > a; git add a
    git -c user.name=n -c user.email=e commit -qm m; git log --oneline | wc -l
    printf 'b\\na\\n' | sort | awk '{print $1}' | xargs echo; find . -name a | sed s/a/z/
    mktemp >/dev/null; diff a a; whoami; timeout 5 env true
    """
    done = run(docker, "sh", "-c", script)
    assert (done.exit_code, done.output) == (0, b"1\na b\n./z\nagent\n")


def test_docker_equal_hosts_give_equal_base_images(docker: DockerSandbox) -> None:
    client = docker._client()
    before = client.images.get(BASE_IMAGE).id
    assert client.images.get(build_base_image(client)).id == before
    assert client.images.get(BASE_IMAGE).id == before
