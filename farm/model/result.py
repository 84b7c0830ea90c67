"""The committed result of a job, exactly one per job."""

from __future__ import annotations

from typing import ClassVar, Literal

from farm.model.base import Model, Record
from farm.model.scalars import Digest, LifecycleType, Slug
from farm.model.steps import Outcome


class AxisResult(Model):
    """One axis of a result. An axis nobody could observe has confidence 0 and is left out of rollups."""

    name: str
    category: str
    weight: float
    veto: bool
    score: float
    confidence: float
    source: Literal["oracle", "judge"]
    issue: str | None = None
    evidence: str = ""


class Score(Model):
    """What the rubric makes of a trial's axes."""

    axes: tuple[AxisResult, ...]
    aggregate: float
    """Weighted mean of observed axes, 0..1, rounded to four decimals."""
    category_scores: dict[str, float]
    passed: bool
    fail_reason: str | None


class Result(Record):
    """`results/<scenario>/<variant>/<trial>.json`."""

    KIND: ClassVar[str] = "result"
    kind: Literal["result"] = "result"
    schema_version: Literal[1] = 1

    run_id: Slug
    scenario: Slug
    type: LifecycleType
    variant: Slug
    trial: int
    outcome: Outcome
    reason: str
    score: Score | None
    """Absent when the trial was lost (infrastructure, oracle error, cancelled)."""
    attempt: int
    attempts: int
    producer_model: str | None
    producer_family: str | None
    judge_model: str | None
    judge_family: str | None
    allow_same_family: bool
    judge_missing: str
    """Why soft axes are `na`; empty when the judge answered or was not asked."""
    tampered: tuple[str, ...]
    backend: str
    delta: Digest | None
    diff: Digest | None
    steps: dict[str, str]
    """Store keys of the step records this result was computed from."""
    worker: str
    committed_at: str
    seconds: dict[str, float]
