"""The sweep file: scenarios x variants x trials; the input of `farm run` and `farm submit`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from farm.model.base import Model
from farm.model.judge import JudgeSpec
from farm.model.limits import DeadlinesPatch, LimitsPatch
from farm.model.scalars import Slug
from farm.model.variant import VariantSpec

SandboxBackend = Literal["process", "docker"]


class Statistics(Model):
    """How verdicts are computed."""

    rule: Literal["seed"] = "seed"
    """Two-sided exact sign test below `alpha` and a median delta beyond `min_effect`."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    min_effect: Annotated[float, Field(ge=0, lt=1)] = 0.05
    """Smallest median delta that counts, in units of the aggregate."""


class Roles(Model):
    """Agent files whose `model:` is the last resort of the resolution chain."""

    producer: str | None = None
    judge: str | None = None


class SweepSpec(Model):
    """A sweep. Paths are relative to the file they stand in."""

    name: Slug = "sweep"
    scenarios: Annotated[tuple[str, ...], Field(min_length=1)]
    """Scenario directories (globs allowed), or ids of bundled scenarios."""
    include_bundled: bool = False
    """Let globs match scenarios marked `bundled: true`; ones named outright always run."""
    variants: Annotated[tuple[VariantSpec, ...], Field(min_length=1)]
    baseline: Slug = "baseline"
    trials: Annotated[int, Field(ge=1, le=1_000_000)] = 12
    """Trials per cell. Fewer than 6 can never give a verdict under the default rule."""
    seed: int = 0
    judge: JudgeSpec | None = None
    allow_same_family: bool = False
    model: str | None = None
    """Producer model of every variant that names none."""
    roles: Roles = Roles()
    rubric: str | None = None
    """An `axes.yml` or `axes.json`; default: the bundled rubric."""
    sandbox: SandboxBackend = "process"
    image: str | None = None
    queue: Slug = "default"
    """Capability queue (`jobs.<queue>`) whose workers run the jobs."""
    limits: LimitsPatch = LimitsPatch()
    deadlines: DeadlinesPatch = DeadlinesPatch()
    statistics: Statistics = Statistics()
    max_attempts: Annotated[int, Field(ge=1, le=20)] = 3
    """Attempts of one job before an infrastructure failure is final."""
    priority: int = 0
    """Higher runs first; equal ones share."""

    @model_validator(mode="after")
    def _names(self) -> SweepSpec:
        names = [variant.name for variant in self.variants]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two variants have the name {name!r}")
        if self.baseline not in names:
            raise ValueError(f"baseline {self.baseline!r} is not a variant; variants are {', '.join(names)}")
        return self
