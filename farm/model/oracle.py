"""The oracle file: deterministic checks, each scoring one hard axis."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from farm.model.base import Model
from farm.model.scalars import Seconds, Slug


class BaseCheck(Model):
    """What every check has."""

    id: Slug
    axis: Slug
    code: str | None = None
    """Issue code when the check fails; default: the rubric's first code for the axis."""


class CmdCheck(BaseCheck):
    """A shell command in the clean room; only its exit code decides. A timeout is always a failure."""

    type: Literal["cmd"]
    cmd: Annotated[str, Field(min_length=1)]
    expect: Literal["exit_zero", "exit_nonzero"] = "exit_zero"
    timeout: Seconds | None = None


class DiffStatsCheck(BaseCheck):
    """Bounds (inclusive) on the size of the change. Exceeding one costs half the axis, never all."""

    type: Literal["diff_stats"]
    max_added_lines: Annotated[int, Field(ge=0)] | None = None
    max_removed_lines: Annotated[int, Field(ge=0)] | None = None
    max_files: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> DiffStatsCheck:
        if self.max_added_lines is self.max_removed_lines is self.max_files is None:
            raise ValueError("give at least one of max_added_lines, max_removed_lines, max_files")
        return self


class DiffFilesCheck(BaseCheck):
    """Which paths the change may touch (globs: `*` within a directory, `**` across, `?` one character)."""

    type: Literal["diff_files"]
    allowed: tuple[str, ...] | None = None
    forbidden: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _says_something(self) -> DiffFilesCheck:
        if self.allowed is None and not self.forbidden:
            raise ValueError("give allowed, forbidden or both")
        return self


class FileContainsCheck(BaseCheck):
    """A file exists and a regular expression is found anywhere in it."""

    type: Literal["file_contains"]
    path: Annotated[str, Field(min_length=1)]
    pattern: str

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return value

    @field_validator("path")
    @classmethod
    def _inside(cls, value: str) -> str:
        return inside_worktree(value)


class FileMissingCheck(BaseCheck):
    """A path does not exist."""

    type: Literal["file_missing"]
    path: Annotated[str, Field(min_length=1)]

    @field_validator("path")
    @classmethod
    def _inside(cls, value: str) -> str:
        return inside_worktree(value)


Check = Annotated[
    CmdCheck | DiffStatsCheck | DiffFilesCheck | FileContainsCheck | FileMissingCheck,
    Field(discriminator="type"),
]


class OracleSpec(Model):
    """`oracle.yml`. The score of an axis is the minimum over its checks."""

    checks: tuple[Check, ...] = ()

    @model_validator(mode="after")
    def _unique(self) -> OracleSpec:
        seen: set[str] = set()
        for check in self.checks:
            if check.id in seen:
                raise ValueError(f"two checks have the id {check.id!r}")
            seen.add(check.id)
        return self


def inside_worktree(path: str) -> str:
    """Return `path` if it is relative and stays inside the worktree; raise ValueError otherwise."""
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\0" in path or not path:
        raise ValueError(f"{path!r} must be a relative path inside the worktree")
    return path
