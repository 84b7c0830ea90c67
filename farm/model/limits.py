"""What a step may use and how long it may take."""

from __future__ import annotations

from farm.model.base import Model
from farm.model.scalars import Bytes, Seconds


class Limits(Model):
    """Resource limits of one sandbox, and of the tree that is taken out of it."""

    memory: Bytes = 1 << 30
    cpus: float = 1.0
    pids: int = 256
    output: Bytes = 8 << 20
    """Output kept of one command, in bytes; what comes after is dropped and said so."""
    file: Bytes = 32 << 20
    """Largest file captured from a worktree; a larger one is listed, not captured."""
    tree: Bytes = 512 << 20
    """Total bytes captured from a worktree; above, the trial ends in `resource_limit`."""
    files: int = 100_000
    """Entries in a worktree; above, the trial ends in `resource_limit`."""


class Deadlines(Model):
    """Wall-clock bounds in seconds. Every step has its own; none covers another."""

    setup: Seconds = 300.0
    produce: Seconds = 2700.0
    check: Seconds = 120.0
    """One command of the oracle."""
    oracle: Seconds = 900.0
    """All checks of the oracle together."""
    judge: Seconds = 600.0


class LimitsPatch(Model):
    """Limits given in a scenario or a sweep; what is absent keeps its default."""

    memory: Bytes | None = None
    cpus: float | None = None
    pids: int | None = None
    output: Bytes | None = None
    file: Bytes | None = None
    tree: Bytes | None = None
    files: int | None = None

    def over(self, base: Limits) -> Limits:
        """`base` with the fields that are given here replaced."""
        return base.model_copy(update=self.model_dump(exclude_none=True))


class DeadlinesPatch(Model):
    """Deadlines given in a scenario or a sweep; what is absent keeps its default."""

    setup: Seconds | None = None
    produce: Seconds | None = None
    check: Seconds | None = None
    oracle: Seconds | None = None
    judge: Seconds | None = None

    def over(self, base: Deadlines) -> Deadlines:
        """`base` with the fields that are given here replaced."""
        return base.model_copy(update=self.model_dump(exclude_none=True))
