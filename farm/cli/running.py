"""The verbs that start work."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any, cast, get_args

from farm.cli import console, reading
from farm.errors import Exit, InputError, Problem
from farm.inputs.sweep_file import LoadedSweep, Overrides, load_sweep
from farm.model.sweep import SandboxBackend
from farm.store.open import open_store
from farm.store.runs import Runs


def load(
    path: Path,
    trials: int | None = None,
    sandbox: str | None = None,
    scenarios: list[str] | None = None,
    producer_model: str | None = None,
    judge_model: str | None = None,
    allow_same_family: bool = False,
    include_bundled: bool = False,
) -> LoadedSweep:
    """Read and check a sweep. Raises InputError with every problem."""
    if sandbox is not None and sandbox not in get_args(SandboxBackend):
        raise InputError(f"--sandbox {sandbox!r}: write one of {', '.join(get_args(SandboxBackend))}")
    overrides = Overrides(
        trials,
        cast(SandboxBackend | None, sandbox),
        tuple(scenarios or ()),
        producer_model,
        judge_model,
        allow_same_family,
        include_bundled,
    )
    loaded = load_sweep(path, overrides)
    for warning in loaded.warnings:
        console.note(f"warning: {warning}")
    return loaded


def _check_images(loaded: LoadedSweep) -> None:
    """Every image must be on the engine before anything is started."""
    from workers.sandbox.images import BASE_IMAGE
    from workers.sandbox.open import open_sandbox

    sandbox = open_sandbox(loaded.spec.sandbox)
    sandbox.info()
    problems = []
    for scenario in loaded.scenarios:
        image = scenario.spec.image or loaded.spec.image or BASE_IMAGE
        if not sandbox.has_image(image):
            how = "farm image build" if image == BASE_IMAGE else f"docker pull {image}"
            problems.append(Problem(str(scenario.path), f"image {image!r} is not on the engine; try: {how}"))
    if problems:
        raise InputError(problems)


def run_here(loaded: LoadedSweep, store_url: str, slots: int, broker: str, as_json: bool, gate: bool = True) -> int:
    """Submit and execute in one go."""
    from farm.scheduler.submit import submit
    from workers.embedded import Broker

    if broker not in get_args(Broker):
        raise InputError(f"--embedded-broker {broker!r}: write one of {', '.join(get_args(Broker))}")
    _check_images(loaded)
    store = open_store(store_url)
    manifest = submit(loaded, store)
    console.note(f"run {manifest.run_id}: {manifest.jobs} jobs; follow with: farm watch {manifest.run_id}")
    return execute(store_url, manifest.run_id, slots, as_json, cast(Broker, broker), gate)


def execute(store_url: str, run_id: str, slots: int, as_json: bool, broker: Any = "auto", gate: bool = True) -> int:
    """Execute a submitted run here and show its verdicts."""
    from workers.embedded import run_embedded

    store = open_store(store_url)
    manifest = Runs(store).manifest(run_id)
    with console.progress_view(manifest.jobs) as progress:
        run_embedded(manifest, store, slots, progress, broker)
    return reading.compare(store_url, run_id, as_json, gate)


def submit_only(loaded: LoadedSweep, store_url: str, as_json: bool) -> None:
    """Write the run to the store; workers find it there."""
    from farm.scheduler.submit import submit

    manifest = submit(loaded, open_store(store_url))
    if as_json:
        console.out_json("submitted", {"run_id": manifest.run_id, "jobs": manifest.jobs, "store": store_url})
    else:
        console.out(manifest.run_id)
        console.note(f"{manifest.jobs} jobs; follow with: farm watch {manifest.run_id}")


def resume(store_url: str, broker: str | None, run_id: str, slots: int) -> int:
    """Make a run active again, and execute it here unless there are workers."""
    runs = Runs(open_store(store_url))
    run_id = reading.resolve(runs, run_id)
    manifest = runs.manifest(run_id)
    done = sum(1 for _ in runs.done(run_id))
    console.note(f"run {run_id}: {done} of {manifest.jobs} jobs done, {manifest.jobs - done} to do")
    runs.activate(run_id)
    if broker:
        console.out(run_id)
        return Exit.OK
    return execute(store_url, run_id, slots, False)


def show_plan(loaded: LoadedSweep, as_json: bool) -> None:
    """What a sweep would run, and whether a verdict can come of it."""
    from farm.model.judge import ModelJudge
    from farm.stats.sign import pairs_needed, smallest_two_sided_p

    _check_images(loaded)
    spec = loaded.spec
    jobs = len(loaded.scenarios) * len(spec.variants) * spec.trials
    asks = isinstance(spec.judge, ModelJudge)
    paid = asks or any(v.producer.type == "command" for v in spec.variants)
    smallest = float(smallest_two_sided_p(spec.trials))
    data = {
        "sweep": spec.name,
        "jobs": jobs,
        "scenarios": [s.spec.id for s in loaded.scenarios],
        "variants": [
            {"name": v.name, "producer": v.producer.type, **loaded.producers[v.name]._asdict()} for v in spec.variants
        ],
        "baseline": spec.baseline,
        "trials": spec.trials,
        "judge": None if spec.judge is None else {"type": spec.judge.type, **loaded.judge._asdict()},
        "sandbox": spec.sandbox,
        "cost_class": "models are called" if paid else "free: scripts only",
        "smallest_p": smallest,
        "verdict_reachable": smallest < spec.statistics.alpha,
    }
    if as_json:
        console.out_json("plan", data)
        return
    size = f"{len(loaded.scenarios)} scenarios x {len(spec.variants)} variants x {spec.trials} trials"
    console.out(f"{spec.name}: {size} = {jobs} jobs")
    for scenario in loaded.scenarios:
        console.out(
            f"  {scenario.spec.id:<28} {scenario.spec.type:<7} {len(scenario.oracle.checks)} checks, judge: "
            f"{', '.join(scenario.spec.judge_axes) or 'not asked'}"
        )
    for variant in spec.variants:
        model = loaded.producers[variant.name]
        base = " (baseline)" if variant.name == spec.baseline else ""
        console.out(
            f"  variant {variant.name}{base}: {variant.producer.type}, model {model.model or '-'} from {model.source}"
        )
    if spec.judge is not None:
        console.out(f"  judge: {spec.judge.type}, model {loaded.judge.model or '-'} from {loaded.judge.source}")
    console.out(f"  sandbox: {spec.sandbox}; cost: {data['cost_class']}")
    needed = pairs_needed(spec.statistics.alpha)
    reach = "reachable" if data["verdict_reachable"] else f"NOT reachable: {needed} or more trials are needed"
    console.out(f"  smallest p with {spec.trials} pairs: {smallest:.4g}; a verdict is {reach}")


def work(store_url: str, broker: str | None, slots: int, queues: list[str]) -> int:
    """Serve until SIGTERM or SIGINT."""
    if not broker:
        raise InputError("no broker; set FARM_BROKER or --broker, such as redis://127.0.0.1:6379/0")
    from workers.serve import serve

    open_store(store_url).ensure()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    console.note(f"worker: {slots} slots on {', '.join(queues)}; stop with Ctrl-C")
    serve(store_url, broker, slots, queues, stop)
    return Exit.OK
