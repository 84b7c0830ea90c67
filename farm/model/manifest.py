"""The manifest: a sweep frozen at submit. Together with the blobs it names it is self-contained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from farm.model.base import Model, Record
from farm.model.judge import JudgeSpec
from farm.model.limits import Deadlines, Limits
from farm.model.oracle import OracleSpec
from farm.model.rubric import Rubric
from farm.model.scalars import Digest, LifecycleType, Slug
from farm.model.store_class import StoreClass
from farm.model.sweep import SandboxBackend, Statistics


class FrozenScenario(Model):
    """A scenario whose files are blobs."""

    id: Slug
    type: LifecycleType
    description: str
    prompt: str
    judge_brief: str
    oracle: OracleSpec
    oracle_axes: tuple[Slug, ...]
    judge_axes: tuple[Slug, ...]
    fixture: Digest
    layered: bool
    """The fixture has `baseline/` and `change/`: two commits, the second on top of the first."""
    oracle_files: Digest | None
    solution: Digest | None
    image: str | None
    limits: Limits
    deadlines: Deadlines
    setup: str | None
    protected: tuple[str, ...]


class FrozenVariant(Model):
    """A variant whose files are blobs and whose command is final."""

    name: Slug
    producer: Literal["script", "command", "nop", "solution"]
    argv: tuple[str, ...]
    files: Digest | None
    """The script, mounted read-only beside the worktree."""
    overlay: Digest | None
    model: str | None
    model_source: str
    family: str | None
    env: dict[str, str]


class FrozenJudge(Model):
    """The judge with its model resolved."""

    spec: JudgeSpec
    argv: tuple[str, ...]
    files: Digest | None
    model: str | None
    model_source: str
    family: str | None


class Cell(NamedTuple):
    """One job of a run: which scenario, variant and trial."""

    scenario: str
    variant: str
    trial: int


class Manifest(Record):
    """Immutable. A job is a pure function of (manifest, index); no job list is stored."""

    KIND: ClassVar[str] = "manifest"
    kind: Literal["manifest"] = "manifest"
    schema_version: Literal[1] = 1

    run_id: Slug
    sweep: Slug
    created_at: str
    farm_version: str
    scenarios: Annotated[tuple[FrozenScenario, ...], Field(min_length=1)]
    variants: Annotated[tuple[FrozenVariant, ...], Field(min_length=1)]
    baseline: Slug
    trials: int
    seed: int
    judge: FrozenJudge | None
    allow_same_family: bool
    rubric: Rubric
    sandbox: SandboxBackend
    queue: Slug
    statistics: Statistics
    store_class: StoreClass
    """What a race at submit told of the store; it decides how results are committed."""
    max_attempts: int
    priority: int

    @property
    def jobs(self) -> int:
        """How many jobs the run has."""
        return len(self.scenarios) * len(self.variants) * self.trials

    def cell(self, index: int) -> Cell:
        """The cell of a job. Trial 0 of all cells comes first, the arms of a pair side by side."""
        if not 0 <= index < self.jobs:
            raise IndexError(f"job {index} of {self.jobs}")
        block, variant = divmod(index, len(self.variants))
        trial, scenario = divmod(block, len(self.scenarios))
        return Cell(self.scenarios[scenario].id, self.variants[variant].name, trial)

    def indexer(self) -> Callable[[Cell], int]:
        """The inverse of `cell`, made once for many calls."""
        scenarios = {scenario.id: position for position, scenario in enumerate(self.scenarios)}
        variants = {variant.name: position for position, variant in enumerate(self.variants)}

        def index(cell: Cell) -> int:
            block = cell.trial * len(scenarios) + scenarios[cell.scenario]
            return block * len(variants) + variants[cell.variant]

        return index

    def scenario(self, scenario_id: str) -> FrozenScenario:
        """The scenario with this id."""
        return next(s for s in self.scenarios if s.id == scenario_id)

    def variant(self, name: str) -> FrozenVariant:
        """The variant with this name."""
        return next(v for v in self.variants if v.name == name)
