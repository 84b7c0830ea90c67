"""A scenario as it stands in its directory."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from farm.model.base import Model
from farm.model.limits import DeadlinesPatch, LimitsPatch
from farm.model.scalars import LifecycleType, Slug


def _not_null(value: object) -> object:
    return () if value is None else value


Names = Annotated[tuple[Slug, ...], BeforeValidator(_not_null)]


class ScenarioSpec(Model):
    """`scenario.yml`."""

    id: Slug
    type: LifecycleType = "run"
    scope: str = "patch"
    description: str = ""
    principle_focus: tuple[int, ...] = ()
    oracle_axes: Names = ()
    """Axes the oracle scores; every one must have a check."""
    judge_axes: Names = ()
    """Axes the judge is asked for; empty: no judge turn."""
    base_commit: str | None = None
    bundled: bool = False
    """Bundled scenarios run only when named or with `include_bundled`."""
    image: str | None = None
    """Container image; default: the sweep's, else the base image."""
    limits: LimitsPatch = LimitsPatch()
    deadlines: DeadlinesPatch = DeadlinesPatch()
    setup: str | None = None
    """Shell command run on the fresh worktree before the producer, and again in the clean room."""
    protected: Annotated[tuple[str, ...], Field(max_length=200)] = ()
    """Globs of fixture paths restored before scoring; a change to one is recorded as tampering."""
