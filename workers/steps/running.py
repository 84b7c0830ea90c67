"""Running a command of a job in its sandbox."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from farm.model.manifest import FrozenScenario, Manifest
from farm.model.sweep import SandboxBackend
from workers.context import Job, StepFailed
from workers.sandbox.base import Command, Finished, Mount, Sandbox, SandboxInfo
from workers.sandbox.open import open_sandbox
from workers.worktree import give

WORK = "/work"
INPUT = "/farm/input"


def trial_seed(manifest: Manifest, scenario: str, trial: int) -> str:
    """A number that both arms of a pair share and no two pairs do."""
    digest = hashlib.sha256(f"{manifest.seed}:{scenario}:{trial}".encode()).hexdigest()
    return str(int(digest[:8], 16))


def run(
    job: Job,
    argv: tuple[str, ...],
    tree: Path,
    mounts: tuple[Mount, ...],
    env: dict[str, str],
    deadline: float,
) -> Finished:
    """Run a command with a tree as its working directory."""
    manifest = job.manifest
    labels = {
        "evalfarm.run": manifest.run_id,
        "evalfarm.job": f"{job.scenario.id}/{job.variant}/{job.trial}",
        "evalfarm.attempt": str(job.attempt),
    }
    sandbox, info = sandbox_of(manifest.sandbox)
    give(tree, info.uid)
    command = Command(
        argv=argv,
        mounts=(Mount(tree, WORK, read_only=False), *mounts),
        workdir=WORK,
        env=env,
        deadline=deadline,
        limits=job.scenario.limits,
        image=job.scenario.image,
        labels=labels,
    )
    return sandbox.run(command, job.stop)


def run_setup(job: Job, tree: Path) -> None:
    """Run the scenario's setup, if it has one. It must succeed: a scenario is broken otherwise."""
    scenario: FrozenScenario = job.scenario
    if scenario.setup is None:
        return
    done = run(job, ("sh", "-c", scenario.setup), tree, (), {}, scenario.deadlines.setup)
    if done.exit_code != 0:
        tail = done.output.decode(errors="replace").strip().splitlines()[-1:]
        ended = "timed out" if done.timed_out else f"ended with {done.exit_code}"
        raise StepFailed("oracle_error", f"setup {ended}: {''.join(tail)}")


@cache
def sandbox_of(backend: SandboxBackend) -> tuple[Sandbox, SandboxInfo]:
    """The sandbox of this process for a backend. Raises Unreachable when it does not work here."""
    sandbox = open_sandbox(backend)
    return sandbox, sandbox.info()


def backend_name(manifest: Manifest) -> str:
    """The sandbox that really runs the jobs."""
    return sandbox_of(manifest.sandbox)[1].name
