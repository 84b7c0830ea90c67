"""What the three steps of a job leave behind."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal

from farm.model.base import Model, Record
from farm.model.judge import JudgeAxis
from farm.model.scalars import Digest


class Outcome(StrEnum):
    """How an attempt ended: the closed list. The first four are the agent's own doing and are scored."""

    COMPLETED = "completed"
    AGENT_TIMEOUT = "agent_timeout"
    AGENT_ERROR = "agent_error"
    RESOURCE_LIMIT = "resource_limit"
    INFRA_ERROR = "infra_error"
    ORACLE_ERROR = "oracle_error"
    CANCELLED = "cancelled"

    @property
    def scored(self) -> bool:
        """Whether the trial counts in a pair."""
        return self not in (Outcome.INFRA_ERROR, Outcome.ORACLE_ERROR, Outcome.CANCELLED)


class Artifact(Model):
    """A file of an attempt in the store."""

    key: str
    digest: Digest
    size: int


class ProduceRecord(Record):
    """The producer has finished, one way or another."""

    KIND: ClassVar[str] = "produce"
    kind: Literal["produce"] = "produce"
    schema_version: Literal[1] = 1

    outcome: Outcome
    reason: str
    exit_code: int | None
    delta: Digest
    """The blob that holds the whole change, any kind of file. Equal changes have equal digests."""
    diff: Artifact
    transcript: Artifact
    added_lines: int
    removed_lines: int
    touched: tuple[str, ...]
    """Paths added, changed or removed by the producer, overlay files left out."""
    overlay_touched: tuple[str, ...]
    not_captured: tuple[str, ...]
    """Paths that could not be taken along, each with the reason."""
    seed_commit: str
    """The single commit (or the second of two) that the worktree began with."""
    transcript_truncated: bool
    backend: str
    seconds: dict[str, float]


class CheckScore(Model):
    """One oracle check."""

    id: str
    axis: str
    score: float
    evidence: str
    code: str | None


class AxisScore(Model):
    """One axis as a step scored it, before the rubric's rules."""

    axis: str
    score: float
    evidence: str
    code: str | None = None


class OracleRecord(Record):
    """The oracle's scores of the hard axes."""

    KIND: ClassVar[str] = "oracle"
    kind: Literal["oracle"] = "oracle"
    schema_version: Literal[1] = 1

    axes: tuple[AxisScore, ...]
    checks: tuple[CheckScore, ...]
    tampered: tuple[str, ...]
    """Protected paths that the producer changed; they were restored before scoring."""
    seconds: float


class JudgeRecord(Record):
    """The judge's scores of the soft axes, or why there are none."""

    KIND: ClassVar[str] = "judge"
    kind: Literal["judge"] = "judge"
    schema_version: Literal[1] = 1

    axes: tuple[JudgeAxis, ...]
    reason: str
    """Why soft axes are `na`; empty when the judge answered."""
    model: str | None
    asks: int
    input_tokens: int
    output_tokens: int
    seconds: float
