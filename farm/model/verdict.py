"""Verdicts of a run."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal

from farm.model.base import Model, Record
from farm.model.scalars import Slug


class Call(StrEnum):
    """The one word."""

    HELPS = "HELPS"
    HURTS = "HURTS"
    INCONCLUSIVE = "INCONCLUSIVE"


class Reason(StrEnum):
    """Why the call is what it is."""

    OK = "OK"
    N_LT_3 = "N_LT_3"
    ALL_TIES = "ALL_TIES"
    UNATTAINABLE = "UNATTAINABLE"
    P_GE_ALPHA = "P_GE_ALPHA"
    EFFECT_AT_BOUNDARY = "EFFECT_AT_BOUNDARY"
    EFFECT_LT_MIN = "EFFECT_LT_MIN"
    TIE_MAJORITY = "TIE_MAJORITY"


class Lost(Model):
    """Trials of one arm that cannot be paired, by reason."""

    variant: Slug
    reasons: dict[str, int]


class ScenarioVerdict(Model):
    """One variant against the baseline on one scenario. planned = used + lost pairs."""

    scenario: Slug
    variant: Slug
    call: Call
    reason: Reason
    explanation: str
    planned: int
    used: int
    wins: int
    losses: int
    ties: int
    p_value: float
    smallest_p: float
    """Smallest two-sided p that this many non-tied pairs could give."""
    median_delta: float
    mean_delta: float
    pass_rate: float
    baseline_pass_rate: float
    lost: tuple[Lost, ...]
    deltas: tuple[float | None, ...]
    """Delta of the aggregate by trial index; None where the pair was lost."""


class RunVerdict(Record):
    """`verdict.json`: derived from the results alone, and rebuilt from them at any time."""

    KIND: ClassVar[str] = "verdict"
    kind: Literal["verdict"] = "verdict"
    schema_version: Literal[1] = 1

    run_id: Slug
    baseline: Slug
    rule: str
    planned_jobs: int
    results: int
    lost_jobs: dict[str, int]
    verdicts: tuple[ScenarioVerdict, ...]
