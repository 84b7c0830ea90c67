"""The verbs that read."""

from __future__ import annotations

import time
from pathlib import Path

from farm.cli import console
from farm.errors import Exit, InputError, NotFound
from farm.inputs.sweep_file import load_rubric
from farm.model.manifest import Cell
from farm.model.verdict import Call, RunVerdict
from farm.report.terminal import MEANINGS, result_rows, run_line, verdict_table
from farm.store.base import KeyMissing
from farm.store.keys import RunKeys
from farm.store.open import open_store
from farm.store.pull import pull_run
from farm.store.runs import Runs
from farm.verdicts import run_verdict


def resolve(runs: Runs, run_id: str) -> str:
    """A run id, `latest`, or an unambiguous beginning. Raises NotFound."""
    ids = runs.ids()
    found = (
        ids[-1:] if run_id == "latest" else [i for i in ids if i == run_id] or [i for i in ids if i.startswith(run_id)]
    )
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{run_id!r} is the beginning of {len(found)} runs: {', '.join(found[:5])}")
    raise NotFound(f"no run {run_id!r} in {runs.store.url}; `farm status` lists runs")


def status(store: str, run_id: str | None, as_json: bool) -> None:
    """Runs with their progress."""
    runs = Runs(open_store(store))
    ids = [resolve(runs, run_id)] if run_id else runs.ids()
    if not ids:
        raise NotFound(f"no runs in {runs.store.url}; start with: farm demo")
    active = set(runs.active())
    rows = []
    for name in ids:
        manifest = runs.manifest(name)
        done = sum(1 for _ in runs.done(name))
        state = "cancelled" if runs.cancelled(name) else "active" if name in active else "finished"
        rows.append({"run_id": name, "sweep": manifest.sweep, "jobs": manifest.jobs, "done": done, "state": state})
        if not as_json:
            found = runs.results(name) if run_id else ()
            console.out(f"{run_line(manifest, done, found)}  {state}")
    if as_json:
        console.out_json("status", rows)


def watch(store: str, broker: str | None, run_id: str, interval: float) -> int:
    """Counts by state until the run is finished."""
    runs = Runs(open_store(store))
    run_id = resolve(runs, run_id)
    manifest = runs.manifest(run_id)
    ledger = None
    if broker:
        from farm.scheduler.redis_ledger import RedisLedger

        ledger = RedisLedger(broker)
    last = ""
    while True:
        active = run_id in runs.active()
        if ledger is not None and active and ledger.known(run_id):
            state = ledger.progress(run_id, time.time())
            waiting = state.jobs - state.done - len(state.leased) - len(state.sent) - state.retrying
            line = (
                f"done {state.done}  running {len(state.leased)}  queued {len(state.sent)}  "
                f"retrying {state.retrying}  waiting {waiting}"
            )
        else:
            done = sum(1 for _ in runs.done(run_id))
            line = f"done {done}  waiting {manifest.jobs - done}"
        if line != last:
            console.out(f"{run_id}  {line}")
            last = line
        if not active:
            return compare(store, run_id, False, True)
        time.sleep(interval)


def cancel(store: str, run_id: str) -> None:
    """Ask for a run to stop."""
    runs = Runs(open_store(store))
    run_id = resolve(runs, run_id)
    runs.cancel(run_id)
    console.out(f"{run_id}: cancelled; go on later with: farm resume {run_id}")


def results(store: str, run_id: str, as_json: bool) -> None:
    """Every committed result."""
    runs = Runs(open_store(store))
    found = runs.results(resolve(runs, run_id))
    if as_json:
        console.out_json("results", [result.model_dump(mode="json") for result in found])
        return
    for line in result_rows(found):
        console.out(line)


def show(store: str, what: str, as_json: bool) -> None:
    """One trial."""
    parts = what.split("/")
    if len(parts) != 4 or not parts[3].isdigit():
        raise InputError(f"{what!r}: write RUN/SCENARIO/VARIANT/TRIAL, such as latest/fix-failing-test/harness/0")
    runs = Runs(open_store(store))
    run_id = resolve(runs, parts[0])
    manifest = runs.manifest(run_id)
    cell = Cell(parts[1], parts[2], int(parts[3]))
    if cell.scenario not in {s.id for s in manifest.scenarios} or cell.variant not in {
        v.name for v in manifest.variants
    }:
        raise NotFound(f"run {run_id} has no cell {'/'.join(parts[1:])}; `farm results {run_id}` lists them")
    try:
        result = runs.result(run_id, cell)
    except KeyMissing:
        raise NotFound(f"no result yet for {'/'.join(parts[1:])} in run {run_id}") from None
    if as_json:
        console.out_json("result", result.model_dump(mode="json"))
        return
    for line in result_rows([result]):
        console.out(line)
    for axis in result.score.axes if result.score else ():
        score = "na" if axis.confidence == 0 else f"{axis.score:g}"
        veto = " veto" if axis.veto else ""
        detail = f"  {axis.issue}: {axis.evidence}" if axis.issue else ""
        console.out(f"  {axis.name:<22} {score:>4}  weight {axis.weight:g}{veto}  by {axis.source}{detail}")
    for name, step in sorted(result.steps.items()):
        console.out(f"  {name}: {step}")


def pull(store: str, run_id: str, into: Path, as_json: bool) -> None:
    """Download and verify."""
    opened = open_store(store)
    run_id = resolve(Runs(opened), run_id)
    target = Path(run_id) if into == Path() else into
    done = pull_run(opened, run_id, target)
    if as_json:
        console.out_json("pull", {"run_id": run_id, "into": str(target), **done._asdict()})
        return
    console.out(
        f"{target}: {done.transferred} transferred ({done.bytes} bytes), {done.unchanged} unchanged, "
        f"{done.repaired} damaged ones fetched again"
    )


def compare(store: str, run_id: str, as_json: bool, gate: bool) -> int:
    """Verdicts, recomputed from the results. Returns the exit code."""
    runs = Runs(open_store(store))
    run_id = resolve(runs, run_id)
    manifest = runs.manifest(run_id)
    verdict = run_verdict(manifest, runs.results(run_id))
    code, why = _gate(verdict) if gate else (Exit.OK, "")
    if as_json:
        console.out_json("verdict", {**verdict.model_dump(mode="json"), "exit_code": int(code)})
        return code
    console.out(f"run {run_id}   {manifest.sweep}: against {manifest.baseline}, {manifest.trials} pairs a scenario")
    console.out()
    for line in verdict_table(verdict):
        console.out(line)
    console.out()
    for line in MEANINGS:
        console.out(line)
    lost = ", ".join(f"{name} {count}" for name, count in verdict.lost_jobs.items())
    console.out(
        f"jobs: planned {verdict.planned_jobs}, lost {lost or 'none'}; results: {runs.store.url}/{RunKeys(run_id).root}"
    )
    if code:
        console.out(f"exit {int(code)}: {why}")
    return code


def _gate(verdict: RunVerdict) -> tuple[Exit, str]:
    if verdict.verdicts and not any(row.used for row in verdict.verdicts):
        return Exit.INFRASTRUCTURE, "no pair could be used"
    hurts = [row.scenario for row in verdict.verdicts if row.call is Call.HURTS]
    if hurts:
        return Exit.GATE_FAILED, f"HURTS on {', '.join(hurts)}"
    if verdict.lost_jobs:
        return Exit.NOT_DECIDED, f"trials were lost; run them with: farm resume {verdict.run_id}"
    return Exit.OK, ""


def rubric(file: Path | None, as_json: bool) -> None:
    """The rubric as a table."""
    loaded, problems = load_rubric(file)
    if loaded is None:
        raise InputError(problems)
    if as_json:
        console.out_json("rubric", loaded.model_dump(mode="json"))
        return
    console.out(f"tiers 0, 0.5, 1; pass: aggregate >= {loaded.pass_threshold:g}, no axis at 0, no veto axis below 1")
    for name, spec in loaded.types.items():
        console.out(f"{name}  {spec.label}")
        for category, axes in spec.categories.items():
            console.out(f"  {category}")
            for axis, detail in axes.items():
                veto = "  veto" if detail.veto else ""
                console.out(f"    {axis:<22} weight {detail.weight:g}{veto}  {', '.join(detail.codes)}")
