"""From a valid sweep to a run: blobs first, then the manifest."""

from __future__ import annotations

import secrets
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from farm import __version__
from farm.errors import InputError
from farm.inputs.scenario_dir import ScenarioDir
from farm.inputs.sweep_file import LoadedSweep
from farm.llm.families import family_of
from farm.model.judge import ModelJudge
from farm.model.limits import Deadlines, Limits
from farm.model.manifest import FrozenJudge, FrozenScenario, FrozenVariant, Manifest
from farm.model.script import Script
from farm.model.store_class import StoreClass
from farm.model.variant import CommandProducer, ScriptProducer, VariantSpec
from farm.store.base import Store
from farm.store.blobs import Blobs
from farm.store.probe import probe
from farm.store.runs import Runs

PRODUCER_DIR = "/farm/producer"
"""Where a producer's own files, and a judge's script, are mounted in the sandbox."""

_SOLVE = (
    'if [ -f "$FARM_PRODUCER/solve.sh" ]; then exec sh "$FARM_PRODUCER/solve.sh"; '
    'else exec cp -R "$FARM_PRODUCER/." .; fi'
)


def new_run_id(now: datetime) -> str:
    """An id that sorts by time and is unique among runs of one second."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def submit(sweep: LoadedSweep, store: Store) -> Manifest:
    """Freeze a sweep and make it a run. Afterwards nothing of the submitter's disk is needed."""
    store.ensure()
    manifest = freeze(sweep, Blobs(store), probe(store), datetime.now(UTC))
    Runs(store).create(manifest)
    return manifest


def freeze(sweep: LoadedSweep, blobs: Blobs, store_class: StoreClass, now: datetime) -> Manifest:
    """Pack everything a sweep names into blobs and describe it in a manifest."""
    spec = sweep.spec
    try:
        return Manifest(
            run_id=new_run_id(now),
            sweep=spec.name,
            created_at=now.isoformat(timespec="seconds"),
            farm_version=__version__,
            scenarios=tuple(_scenario(scenario, sweep, blobs) for scenario in sweep.scenarios),
            variants=tuple(_variant(variant, sweep, blobs) for variant in spec.variants),
            baseline=spec.baseline,
            trials=spec.trials,
            seed=spec.seed,
            judge=_judge(sweep, blobs),
            allow_same_family=spec.allow_same_family,
            rubric=sweep.rubric,
            sandbox=spec.sandbox,
            queue=spec.queue,
            statistics=spec.statistics,
            store_class=store_class,
            max_attempts=spec.max_attempts,
            priority=spec.priority,
        )
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be packed: {error.strerror}") from None


def _scenario(scenario: ScenarioDir, sweep: LoadedSweep, blobs: Blobs) -> FrozenScenario:
    spec = scenario.spec

    def tree(path: Path | None) -> str | None:
        return None if path is None else blobs.put_tree(path)

    return FrozenScenario(
        id=spec.id,
        type=spec.type,
        description=spec.description,
        prompt=scenario.prompt,
        judge_brief=scenario.judge_brief,
        oracle=scenario.oracle,
        oracle_axes=spec.oracle_axes,
        judge_axes=spec.judge_axes,
        fixture=blobs.put_tree(scenario.fixture),
        layered=scenario.layered,
        oracle_files=tree(scenario.optional_tree("oracle")),
        solution=tree(scenario.optional_tree("solution")),
        image=spec.image or sweep.spec.image,
        limits=spec.limits.over(sweep.spec.limits.over(Limits())),
        deadlines=spec.deadlines.over(sweep.spec.deadlines.over(Deadlines())),
        setup=spec.setup,
        protected=spec.protected,
    )


def _variant(variant: VariantSpec, sweep: LoadedSweep, blobs: Blobs) -> FrozenVariant:
    producer = variant.producer
    argv: tuple[str, ...]
    files = None
    if isinstance(producer, ScriptProducer):
        argv, files = _script(producer, sweep, blobs)
    elif isinstance(producer, CommandProducer):
        argv = producer.argv
    elif producer.type == "solution":
        argv = ("sh", "-c", _SOLVE)
    else:
        argv = ("true",)
    model = sweep.producers[variant.name]
    return FrozenVariant(
        name=variant.name,
        producer=producer.type,
        argv=argv,
        files=files,
        overlay=blobs.put_tree(sweep.beside(variant.overlay)) if variant.overlay else None,
        model=model.model,
        model_source=model.source,
        family=variant.family or (family_of(model.model) if model.model else None),
        env=variant.env,
    )


def _script(script: Script, sweep: LoadedSweep, blobs: Blobs) -> tuple[tuple[str, ...], str | None]:
    if script.run is not None:
        return ("sh", "-c", script.run), None
    assert script.file is not None
    source = sweep.beside(script.file)
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, source.name).write_bytes(source.read_bytes())
        digest = blobs.put_tree(Path(directory))
    interpreter = ("python3",) if source.suffix == ".py" else ("sh",)
    return (*interpreter, f"{PRODUCER_DIR}/{source.name}"), digest


def _judge(sweep: LoadedSweep, blobs: Blobs) -> FrozenJudge | None:
    spec = sweep.spec.judge
    if spec is None:
        return None
    if isinstance(spec, ModelJudge):
        model = sweep.judge.model
        family = spec.family or (family_of(model) if model else None)
        return FrozenJudge(spec=spec, argv=(), files=None, model=model, model_source=sweep.judge.source, family=family)
    argv, files = _script(spec, sweep, blobs)
    return FrozenJudge(spec=spec, argv=argv, files=files, model=None, model_source="none", family=None)
