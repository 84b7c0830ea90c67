"""Produce: the agent works in a fresh worktree; what it changed is taken out of it."""

from __future__ import annotations

import re
import time

from farm.model.manifest import FrozenVariant
from farm.model.steps import Outcome, ProduceRecord
from farm.scheduler.submit import PRODUCER_DIR
from workers.context import Context, Job, copy_tree
from workers.sandbox.base import Finished, Mount
from workers.steps.artifacts import save
from workers.steps.running import INPUT, WORK, backend_name, run, run_setup, trial_seed
from workers.worktree import (
    Change,
    Snapshot,
    TooBig,
    change_between,
    diff_of,
    pack_change,
    printable,
    snapshot,
)


def produce(context: Context, job: Job) -> ProduceRecord:
    """Run the producer and capture its change, transcript and outcome.

    Raises:
        SandboxError: the engine failed.
        StepFailed: the scenario's setup failed.

    """
    clock = {}
    scenario, variant = job.scenario, job.manifest.variant(job.variant)
    started = time.monotonic()
    template = context.template(scenario, variant.overlay)
    tree, before_tree = job.directory / "work", template.tree
    copy_tree(template.tree, tree)
    if scenario.setup is not None:
        run_setup(job, tree)
        before_tree = job.directory / "before"
        copy_tree(tree, before_tree)
        before = snapshot(tree, scenario.limits)
    else:
        before = context.snapshot(template.tree, scenario.limits)
    clock["seed"] = time.monotonic() - started

    done = _run_producer(context, job, variant)
    clock["produce"] = done.seconds

    started = time.monotonic()
    outcome, reason = _outcome(done, scenario.deadlines.produce)
    change, after, too_big = Change((), ()), before, ""
    try:
        after = snapshot(tree, scenario.limits)
        change = change_between(before, after)
    except TooBig as error:
        outcome, reason, too_big = Outcome.RESOURCE_LIMIT, str(error), f".: {error}"
        tree = before_tree
    overlay_touched = sorted(template.overlay.intersection((*change.changed, *change.removed)))
    change = change.without(template.overlay)
    diff = diff_of(before_tree, tree, before, after, change, scenario.limits)
    touched = [p for p in (*change.changed, *change.removed) if not _directory(p, before, after)]
    record = ProduceRecord(
        outcome=outcome,
        reason=reason,
        exit_code=done.exit_code,
        delta=context.blobs.put_bytes(pack_change(tree, after, change, scenario.limits)),
        diff=save(context, job, "diff.patch", diff.patch),
        transcript=save(context, job, "transcript.md", done.output),
        added_lines=diff.added,
        removed_lines=diff.removed,
        touched=tuple(sorted(map(printable, touched))),
        overlay_touched=tuple(overlay_touched),
        not_captured=tuple(map(printable, filter(None, (*after.skipped, too_big)))),
        seed_commit=template.commit,
        transcript_truncated=done.output_truncated,
        backend=backend_name(job.manifest),
        seconds={**clock, "collect": time.monotonic() - started},
    )
    save(context, job, "produce.json", record.to_bytes())
    return record


def _directory(path: str, *trees: Snapshot) -> bool:
    entries = [tree.entries.get(path) for tree in trees]
    return all(entry is None or entry.mode == "040000" for entry in entries)


def _run_producer(context: Context, job: Job, variant: FrozenVariant) -> Finished:
    inputs = job.directory / "input"
    inputs.mkdir()
    (inputs / "prompt.md").write_text(job.scenario.prompt)
    mounts = [Mount(inputs, INPUT)]
    files = job.scenario.solution if variant.producer == "solution" else variant.files
    if files:
        mounts.append(Mount(context.tree(files), PRODUCER_DIR))
    values = {
        "prompt_file": f"{INPUT}/prompt.md",
        "prompt": job.scenario.prompt,
        "workdir": WORK,
        "model": variant.model or "",
        "seed": trial_seed(job.manifest, job.scenario.id, job.trial),
    }
    # Nothing here tells an arm which it is, nor which trial of how many.
    env = {
        **variant.env,
        "FARM_PROMPT_FILE": values["prompt_file"],
        "FARM_PRODUCER": PRODUCER_DIR,
        "FARM_MODEL": values["model"],
        "FARM_SEED": values["seed"],
    }
    argv = variant.argv
    if variant.producer == "command":
        argv = tuple(re.sub(r"\{([a-z_]+)\}", lambda match: values[match[1]], word) for word in argv)
    return run(job, argv, job.directory / "work", tuple(mounts), env, job.scenario.deadlines.produce)


def _outcome(done: Finished, deadline: float) -> tuple[Outcome, str]:
    if done.timed_out:
        return Outcome.AGENT_TIMEOUT, f"the producer was stopped after {deadline:g} s"
    if done.oom:
        return Outcome.RESOURCE_LIMIT, "out of memory"
    if done.exit_code != 0:
        return Outcome.AGENT_ERROR, f"the producer ended with exit code {done.exit_code}"
    return Outcome.COMPLETED, ""
