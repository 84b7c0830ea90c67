"""A sweep file with everything it names, checked whole before anything runs."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from farm.errors import InputError, NotFound, Problem
from farm.inputs.bundled import bundled_root, bundled_scenarios
from farm.inputs.models import Resolved, resolve_model
from farm.inputs.scenario_dir import ScenarioDir, load_scenario
from farm.inputs.yaml_file import YamlFile
from farm.llm.families import family_of
from farm.model.judge import ModelJudge, ScriptJudge
from farm.model.rubric import Rubric
from farm.model.sweep import SandboxBackend, SweepSpec
from farm.model.variant import CommandProducer, ScriptProducer, SolutionProducer, VariantSpec


@dataclass(frozen=True)
class Overrides:
    """What the command line may change about a sweep."""

    trials: int | None = None
    sandbox: SandboxBackend | None = None
    scenarios: tuple[str, ...] = ()
    producer_model: str | None = None
    judge_model: str | None = None
    allow_same_family: bool = False
    include_bundled: bool = False
    seed: int | None = None


@dataclass(frozen=True)
class LoadedSweep:
    """A valid sweep: nothing in it can fail for a reason that was knowable."""

    path: Path
    spec: SweepSpec
    rubric: Rubric
    scenarios: tuple[ScenarioDir, ...]
    producers: dict[str, Resolved]
    """Model by variant."""
    judge: Resolved
    warnings: tuple[str, ...] = field(default=())

    def beside(self, name: str) -> Path:
        """A path of the sweep file, relative to it."""
        return self.path.parent / name


def load_rubric(path: Path | None) -> tuple[Rubric | None, list[Problem]]:
    """Read a rubric, the bundled one by default."""
    file = YamlFile(path or bundled_root() / "axes.yml")
    return file.model(Rubric), file.problems


def load_sweep(path: Path, overrides: Overrides, env: Mapping[str, str] = os.environ) -> LoadedSweep:
    """Read a sweep file and everything it names.

    Raises:
        InputError: with every problem found.
        NotFound: the sweep is fine, but no scenario matches the selection.

    """
    file = YamlFile(path)
    spec = file.model(SweepSpec)
    if spec is None:
        raise InputError(file.problems)
    spec = _overridden(spec, overrides)
    problems: list[Problem] = []
    rubric, rubric_problems = load_rubric(path.parent / spec.rubric if spec.rubric else None)
    problems += rubric_problems
    scenarios = _scenarios(spec, overrides, file, rubric, problems)
    producer_role = path.parent / (spec.roles.producer or ".agentrig/agents/developer.yml")
    judge_role = path.parent / (spec.roles.judge or ".agentrig/agents/reviewer.yml")
    producers = {
        variant.name: resolve_model(
            "producer",
            overrides.producer_model,
            env,
            variant.model or spec.model,
            producer_role if isinstance(variant.producer, CommandProducer) else None,
        )
        for variant in spec.variants
    }
    named = spec.judge.model if isinstance(spec.judge, ModelJudge) else None
    judge = (
        resolve_model("judge", overrides.judge_model, env, named, judge_role)
        if isinstance(spec.judge, ModelJudge)
        else Resolved(None, "none")
    )
    for position, variant in enumerate(spec.variants):
        problems += _variant(position, variant, producers[variant.name], scenarios, file)
    problems += _judge(spec, judge, producers, file)
    if problems:
        raise InputError(problems)
    if not scenarios:
        raise NotFound(
            f"{path}: no scenario matches. Bundled ones run when named, or with --include-bundled "
            f"({', '.join(bundled_scenarios())})."
        )
    assert rubric is not None
    return LoadedSweep(path, spec, rubric, tuple(scenarios), producers, judge, _warnings(spec))


def _overridden(spec: SweepSpec, overrides: Overrides) -> SweepSpec:
    update: dict[str, object] = {}
    if overrides.trials is not None:
        update["trials"] = overrides.trials
    if overrides.sandbox is not None:
        update["sandbox"] = overrides.sandbox
    if overrides.seed is not None:
        update["seed"] = overrides.seed
    update["allow_same_family"] = spec.allow_same_family or overrides.allow_same_family
    update["include_bundled"] = spec.include_bundled or overrides.include_bundled
    return spec.model_copy(update=update)


def _scenarios(
    spec: SweepSpec, overrides: Overrides, file: YamlFile, rubric: Rubric | None, problems: list[Problem]
) -> list[ScenarioDir]:
    bundled = bundled_scenarios()
    paths: dict[Path, bool] = {}
    for position, pattern in enumerate(spec.scenarios):
        found = sorted(glob.glob(str(file.path.parent / pattern)))  # noqa: PTH207 - patterns may be absolute
        directories = [Path(name) for name in found if (Path(name) / "scenario.yml").is_file()]
        is_glob = glob.has_magic(pattern)
        if not directories and pattern in bundled:
            directories = [bundled[pattern]]
        elif not directories and is_glob and "/" not in pattern and spec.include_bundled:
            directories = [p for name, p in bundled.items() if fnmatch.fnmatch(name, pattern)]
        if not directories and not is_glob:
            known = ", ".join(bundled)
            problems.append(
                file.problem(f"no scenario directory {pattern!r}; bundled ids are {known}", "scenarios", position)
            )
        for directory in directories:
            paths[directory] = paths.get(directory, False) or not is_glob
    wanted = set(overrides.scenarios)
    loaded: dict[str, ScenarioDir] = {}
    for directory, explicit in paths.items():
        if wanted and directory.resolve().name not in wanted:
            continue
        scenario, found_problems = load_scenario(directory, rubric)
        problems += found_problems
        if scenario is None:
            continue
        if scenario.spec.bundled and not (explicit or wanted or spec.include_bundled):
            continue
        if scenario.spec.id in loaded:
            problems.append(Problem(str(directory), f"a second scenario has the id {scenario.spec.id!r}"))
        loaded[scenario.spec.id] = scenario
    for name in sorted(wanted - {directory.resolve().name for directory in paths}):
        problems.append(Problem("--scenario", f"{name!r} is not in the sweep"))
    return list(loaded.values())


def _variant(
    position: int, variant: VariantSpec, model: Resolved, scenarios: list[ScenarioDir], file: YamlFile
) -> list[Problem]:
    here: tuple[str, int] = ("variants", position)
    problems = []
    producer = variant.producer
    if isinstance(producer, ScriptProducer) and producer.file:
        if not (file.path.parent / producer.file).is_file():
            problems.append(file.problem(f"no file {producer.file!r}", *here, "producer", "file"))
    elif isinstance(producer, SolutionProducer):
        problems += [
            Problem(str(s.path), "has no solution/ directory, which the solution producer needs")
            for s in scenarios
            if s.optional_tree("solution") is None
        ]
    elif isinstance(producer, CommandProducer) and any("{model}" in a for a in producer.argv) and not model.model:
        problems.append(
            file.problem(
                "the command uses {model}, but no model is set; use --producer-model, FARM_PRODUCER_MODEL or `model:`",
                *here,
                "producer",
            )
        )
    if variant.overlay and not (file.path.parent / variant.overlay).is_dir():
        problems.append(file.problem(f"no directory {variant.overlay!r}", *here, "overlay"))
    return problems


def _judge(spec: SweepSpec, judge: Resolved, producers: dict[str, Resolved], file: YamlFile) -> list[Problem]:
    if spec.judge is None:
        return []
    if isinstance(spec.judge, ScriptJudge):
        if spec.judge.file and not (file.path.parent / spec.judge.file).is_file():
            return [file.problem(f"no file {spec.judge.file!r}", "judge", "file")]
        return []
    if judge.model is None:
        return [file.problem("no judge model; use --judge-model, FARM_JUDGE_MODEL or `model:`", "judge", "model")]
    if spec.allow_same_family:
        return []
    problems = []
    judge_family = spec.judge.family or family_of(judge.model)
    if judge_family is None:
        problems.append(
            file.problem(
                f"the family of {judge.model!r} is unknown; say `family:`, or allow it with --allow-same-family",
                "judge",
                "model",
            )
        )
    for position, variant in enumerate(spec.variants):
        model = producers[variant.name].model
        if model is None and not isinstance(variant.producer, CommandProducer):
            continue
        family = variant.family or (family_of(model) if model else None)
        if family is None:
            problems.append(
                file.problem(
                    f"the family of its model ({model or 'none given'}) is unknown, so it cannot be told from the "
                    "judge's; set `model:` or `family:`, or allow it with --allow-same-family",
                    "variants",
                    position,
                )
            )
        elif family == judge_family:
            problems.append(
                file.problem(
                    f"its model {model!r} and the judge {judge.model!r} are of one family ({family}); choose "
                    "another judge, or allow it with --allow-same-family",
                    "variants",
                    position,
                )
            )
    return problems


def _warnings(spec: SweepSpec) -> tuple[str, ...]:
    from farm.stats.sign import pairs_needed

    needed = pairs_needed(spec.statistics.alpha)
    if spec.trials < needed and len(spec.variants) > 1:
        return (
            f"{spec.trials} trials can never give HELPS or HURTS: the smallest possible p is above "
            f"{spec.statistics.alpha:g}; use --trials {needed} or more",
        )
    return ()
