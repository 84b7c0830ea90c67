"""The same sweep embedded, and over Redis, two worker hosts, Docker and an S3 API: identical results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from farm.inputs.bundled import bundled_root
from farm.store.keys import RunKeys
from farm.store.open import open_store
from farm.store.runs import Runs
from tests.engines.s3 import s3_server

FARM = [sys.executable, "-m", "farm.cli.main"]
SWEEP = """\
name: both-ways
scenarios: [fix-failing-test, review-catches-bug]
trials: 2
seed: 7
variants:
  - {{name: baseline, producer: {{type: script, file: "{demo}/agent.py"}}}}
  - {{name: harness, producer: {{type: script, file: "{demo}/agent.py"}}, overlay: "{demo}/harness"}}
judge: {{type: script, file: "{demo}/judge.py"}}
"""


def farm(*words, env, timeout=120, check=True):
    done = subprocess.run([*FARM, *map(str, words)], env=env, capture_output=True, text=True, timeout=timeout)
    assert not check or done.returncode in (0, 1), done.stderr
    return done


def essence(results):
    """A result without clocks, ids, and the words of evidence (which quote test timings)."""
    return {
        (r.scenario, r.variant, r.trial): (
            r.outcome,
            r.score.aggregate if r.score else None,
            r.score.passed if r.score else None,
            [(a.name, a.score, a.confidence, a.issue, a.source) for a in r.score.axes] if r.score else None,
            r.delta,
            r.diff,
            r.tampered,
        )
        for r in results
    }


@pytest.fixture
def s3_env():
    with s3_server() as found:
        yield {**os.environ, **found, "FARM_STORE": "s3://evals/team"}


def test_embedded_and_distributed_agree(tmp_path, redis_url, docker_engine, s3_env, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, s3_env[name])
    sweep = tmp_path / "s.yml"
    sweep.write_text(SWEEP.format(demo=bundled_root() / "demo"))
    local = {**os.environ, "FARM_STORE": str(tmp_path / "store")}
    farm("run", sweep, "--embedded-broker", "memory", env=local)
    here = Runs(open_store(str(tmp_path / "store")))
    (embedded,) = here.ids()

    env = {**s3_env, "FARM_BROKER": redis_url, "DOCKER_HOST": docker_engine.host}
    workers = []
    try:
        for number in range(2):
            scratch = {**env, "FARM_SCRATCH": str(tmp_path / f"host{number}")}
            workers.append(subprocess.Popen([*FARM, "worker", "--slots", "1"], env=scratch, start_new_session=True))
        submitted = farm("submit", sweep, "--sandbox", "docker", "--json", env=env)
        run_id = json.loads(submitted.stdout)["data"]["run_id"]
        watched = farm("watch", run_id, "--interval", "0.5", env=env, timeout=240)
        assert "done" in watched.stdout and "running" in watched.stdout
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait(30)
    there = Runs(open_store("s3://evals/team", s3_env))
    ours, theirs = here.results(embedded), there.results(run_id)
    assert len(ours) == 8 and essence(ours) == essence(theirs)
    assert {r.backend for r in theirs} == {"docker"}
    assert there.active() == []
    verdicts = [
        json.loads(farm("compare", run, "--json", env=e).stdout)["data"]["verdicts"]
        for run, e in ((embedded, local), (run_id, env))
    ]
    assert verdicts[0] == verdicts[1]

    into = tmp_path / "pulled"
    first = json.loads(farm("pull", run_id, "--into", into, "--json", env=env).stdout)["data"]
    again = json.loads(farm("pull", run_id, "--into", into, "--json", env=env).stdout)["data"]
    assert first["transferred"] > 8 * 5 and again["transferred"] == 0
    victim = next(Path(into, "results").rglob("*.json"))
    good = victim.read_bytes()
    victim.write_bytes(good.replace(b"completed", b"c0mpleted"))
    repaired = json.loads(farm("pull", run_id, "--into", into, "--json", env=env).stdout)["data"]
    assert (repaired["transferred"], repaired["repaired"]) == (1, 1) and victim.read_bytes() == good


def test_a_cancelled_run_stops_and_resumes(tmp_path):
    env = {**os.environ, "FARM_STORE": str(tmp_path / "store")}
    sweep = tmp_path / "s.yml"
    sweep.write_text(
        "scenarios: [minimal-config-fix]\ntrials: 6\nvariants:\n"
        "  - {name: baseline, producer: {type: script, run: sleep 0.5}}\n  - {name: other, producer: solution}\n"
    )
    process = subprocess.Popen(
        [*FARM, "run", str(sweep), "--embedded-broker", "memory", "-j", "1"], env=env, stdout=subprocess.PIPE
    )
    runs = Runs(open_store(str(tmp_path / "store")))
    while not runs.ids() or not list(runs.done(runs.ids()[0])):
        assert process.poll() is None
        time.sleep(0.05)
    (run_id,) = runs.ids()
    farm("cancel", run_id, env=env)
    assert process.wait(60) == 3
    process.stdout.close()
    keys = RunKeys(run_id)
    first = {cell: runs.store.get(keys.result(cell)) for cell in runs.done(run_id)}
    assert 0 < len(first) < 12
    farm("resume", run_id, env=env)
    assert len(list(runs.done(run_id))) == 12
    for cell, data in first.items():
        assert runs.store.get(keys.result(cell)) == data


def test_invalid_input_ends_with_2_and_starts_nothing(tmp_path, docker_engine):
    env = {**os.environ, "FARM_STORE": str(tmp_path / "store"), "DOCKER_HOST": docker_engine.host}
    sweep = tmp_path / "s.yml"
    cases = {
        "scenarios: [absent]\nvariants: [{name: baseline, producer: nop}]\n": "no scenario directory 'absent'",
        "scenarios: [fix-failing-test]\nsandbox: docker\nimage: absent:9\n"
        "variants: [{name: baseline, producer: nop}]\n": ("image 'absent:9' is not on the engine"),
        "scenarios: [fix-failing-test]\n"
        "variants: [{name: baseline, producer: {type: command, argv: [a]}, model: gpt-5}]\n"
        "judge: {type: openai, model: gpt-4}\n": "one family",
    }
    for text, wanted in cases.items():
        sweep.write_text(text)
        for verb in ("run", "plan"):
            done = farm(verb, sweep, env=env, check=False)
            assert done.returncode == 2 and wanted in done.stderr and "Traceback" not in done.stderr
            assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "store" / "runs").exists()
