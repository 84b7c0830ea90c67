"""The command `farm`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from farm.cli import console
from farm.errors import Exit, FarmError

app = typer.Typer(
    name="farm",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="evalfarm: did this change help? Paired trials of coding agents, scored and judged honestly.",
    epilog="Exit codes: 0 done, 1 gate failed, 2 invalid input, 3 not decided, 4 infrastructure, "
    "5 nothing matched, 130 interrupted. Start with: farm demo",
)

Store = Annotated[str, typer.Option(envvar="FARM_STORE", help="s3://bucket/prefix or a directory.")]
Broker = Annotated[Optional[str], typer.Option(envvar="FARM_BROKER", help="redis://host:port/db")]  # noqa: UP045
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
SweepPath = Annotated[Path, typer.Argument(help="Sweep file.")]
Trials = Annotated[Optional[int], typer.Option("--trials", "-n", min=1, help="Trials per cell.")]  # noqa: UP045
SandboxName = Annotated[Optional[str], typer.Option("--sandbox", help="process or docker.")]  # noqa: UP045
Scenarios = Annotated[Optional[list[str]], typer.Option("--scenario", help="Only this one; may repeat.")]  # noqa: UP045
ProducerModel = Annotated[Optional[str], typer.Option("--producer-model")]  # noqa: UP045
JudgeModel = Annotated[Optional[str], typer.Option("--judge-model")]  # noqa: UP045
SameFamily = Annotated[bool, typer.Option("--allow-same-family", help="Judge and producer may be of one family.")]
Bundled = Annotated[bool, typer.Option("--include-bundled", help="Let globs match bundled scenarios.")]
Slots = Annotated[int, typer.Option("--slots", "-j", min=1, help="Jobs at a time.")]
RunId = Annotated[str, typer.Argument(help="Run id; `latest` for the newest.")]

DEFAULT_STORE = ".farm/store"


@app.command(epilog="Example: farm run sweep.yml --trials 12 --sandbox docker")
def run(
    sweep: SweepPath,
    store: Store = DEFAULT_STORE,
    trials: Trials = None,
    sandbox: SandboxName = None,
    scenario: Scenarios = None,
    producer_model: ProducerModel = None,
    judge_model: JudgeModel = None,
    allow_same_family: SameFamily = False,
    include_bundled: Bundled = False,
    slots: Slots = 2,
    embedded_broker: Annotated[str, typer.Option(help="auto, memory or redis.")] = "auto",
    as_json: Json = False,
) -> None:
    """Run a sweep here, to its verdicts. No service is needed."""
    from farm.cli import running

    loaded = running.load(
        sweep, trials, sandbox, scenario, producer_model, judge_model, allow_same_family, include_bundled
    )
    raise typer.Exit(running.run_here(loaded, store, slots, embedded_broker, as_json))


@app.command(epilog="Example: farm submit nightly.yml --store s3://evals")
def submit(
    sweep: SweepPath,
    store: Store = DEFAULT_STORE,
    trials: Trials = None,
    sandbox: SandboxName = None,
    scenario: Scenarios = None,
    producer_model: ProducerModel = None,
    judge_model: JudgeModel = None,
    allow_same_family: SameFamily = False,
    include_bundled: Bundled = False,
    as_json: Json = False,
) -> None:
    """Hand a sweep to the farm's workers and return at once with its run id."""
    from farm.cli import running

    loaded = running.load(
        sweep, trials, sandbox, scenario, producer_model, judge_model, allow_same_family, include_bundled
    )
    running.submit_only(loaded, store, as_json)


@app.command()
def plan(
    sweep: SweepPath,
    trials: Trials = None,
    sandbox: SandboxName = None,
    scenario: Scenarios = None,
    producer_model: ProducerModel = None,
    judge_model: JudgeModel = None,
    allow_same_family: SameFamily = False,
    include_bundled: Bundled = False,
    as_json: Json = False,
) -> None:
    """Check a sweep whole and show what it would run. Nothing is started."""
    from farm.cli import running

    loaded = running.load(
        sweep, trials, sandbox, scenario, producer_model, judge_model, allow_same_family, include_bundled
    )
    running.show_plan(loaded, as_json)


@app.command()
def status(
    run_id: Annotated[Optional[str], typer.Argument()] = None,  # noqa: UP045
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """List runs, or show one."""
    from farm.cli import reading

    reading.status(store, run_id, as_json)


@app.command()
def watch(
    run_id: RunId = "latest",
    store: Store = DEFAULT_STORE,
    broker: Broker = None,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between looks.")] = 2.0,
) -> None:
    """Follow a run until it is finished. Stopping to watch changes nothing."""
    from farm.cli import reading

    raise typer.Exit(reading.watch(store, broker, run_id, interval))


@app.command()
def cancel(run_id: RunId, store: Store = DEFAULT_STORE) -> None:
    """Stop a run. What is finished stays; `farm resume` goes on from there."""
    from farm.cli import reading

    reading.cancel(store, run_id)


@app.command()
def resume(
    run_id: RunId,
    store: Store = DEFAULT_STORE,
    broker: Broker = None,
    slots: Slots = 2,
) -> None:
    """Run the cells of a run that have no result yet: here, or by the workers when a broker is set."""
    from farm.cli import running

    raise typer.Exit(running.resume(store, broker, run_id, slots))


@app.command()
def results(run_id: RunId = "latest", store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """List the committed results of a run."""
    from farm.cli import reading

    reading.results(store, run_id, as_json)


@app.command(epilog="Example: farm show latest/fix-failing-test/harness/3")
def show(
    what: Annotated[str, typer.Argument(help="RUN/SCENARIO/VARIANT/TRIAL")],
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Show one trial: axes, evidence, and where its files are."""
    from farm.cli import reading

    reading.show(store, what, as_json)


@app.command()
def pull(
    run_id: RunId,
    into: Annotated[Path, typer.Option("--into", "-o", help="Directory; default: the run id.")] = Path(),
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Download a run, incrementally, and verify every digest."""
    from farm.cli import reading

    reading.pull(store, run_id, into, as_json)


@app.command()
def compare(
    run_id: RunId = "latest",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
    gate: Annotated[bool, typer.Option(help="Exit 1 on HURTS, 3 when pairs were lost.")] = True,
) -> None:
    """Recompute the verdicts of a run from its results."""
    from farm.cli import reading

    raise typer.Exit(reading.compare(store, run_id, as_json, gate))


@app.command()
def rubric(
    file: Annotated[Optional[Path], typer.Argument(help="axes.yml or axes.json")] = None,  # noqa: UP045
    as_json: Json = False,
) -> None:
    """Show the rubric: axes, weights, vetoes, issue codes."""
    from farm.cli import reading

    reading.rubric(file, as_json)


@app.command()
def schema(
    name: Annotated[Optional[str], typer.Argument()] = None,  # noqa: UP045
    into: Annotated[Optional[Path], typer.Option("--into", "-o", help="Write all into a directory.")] = None,  # noqa: UP045
) -> None:
    """Print the JSON Schema of a file or record, for editors and other tools."""
    from farm.cli import schemas

    schemas.export(name, into)


@app.command()
def init(directory: Annotated[Path, typer.Argument()] = Path()) -> None:
    """Write a first sweep and a first scenario into a directory."""
    from farm.cli import starting

    starting.init(directory)


@app.command()
def demo(store: Store = DEFAULT_STORE, slots: Slots = 2) -> None:
    """Run the bundled demo: scripted agents, no key, no network, no service."""
    from farm.cli import starting

    raise typer.Exit(starting.demo(store, slots))


@app.command()
def worker(
    store: Store = DEFAULT_STORE,
    broker: Broker = None,
    slots: Slots = 2,
    queues: Annotated[str, typer.Option(help="Capability queues, comma-separated.")] = "default",
) -> None:
    """Work on this host: dispatch runs and execute jobs until stopped."""
    from farm.cli import running

    raise typer.Exit(running.work(store, broker, slots, queues.split(",")))


@app.command()
def doctor(store: Store = DEFAULT_STORE, broker: Broker = None, as_json: Json = False) -> None:
    """Check this machine: git, sandboxes, store, broker. Says what to do about what is missing."""
    from farm.cli import starting

    raise typer.Exit(starting.doctor(store, broker, as_json))


image_app = typer.Typer(no_args_is_help=True, help="Container images.", rich_markup_mode=None)
app.add_typer(image_app, name="image")


@image_app.command("build")
def image_build() -> None:
    """Build the base image (Python, git, a shell) from this host, without any registry."""
    from workers.sandbox.docker import DockerSandbox
    from workers.sandbox.images import BASE_IMAGE

    DockerSandbox().prefetch(BASE_IMAGE)
    console.out(BASE_IMAGE)


def main() -> None:
    """Entry point: errors for people, never a stack trace for their mistakes."""
    try:
        app(standalone_mode=True)
    except FarmError as error:
        for line in str(error).splitlines():
            console.note(f"error: {line}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        console.note("interrupted; what is finished is saved. Go on with: farm resume RUN")
        sys.exit(Exit.INTERRUPTED)


if __name__ == "__main__":
    main()
