"""Errors that are meant for people, each with the exit code of the command it ends.

FarmError                     1..4, never shown with a stack trace
├── InputError            2   invalid sweep, scenario, option: nothing was started
├── NotFound              5   nothing matched the selection
├── Unreachable           4   broker, store or engine cannot be reached
└── RecordError           4   a stored record cannot be read (damaged, or another schema version)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command. 1 never means "could not measure"."""

    OK = 0
    GATE_FAILED = 1
    INVALID = 2
    NOT_DECIDED = 3
    INFRASTRUCTURE = 4
    NOTHING_MATCHED = 5
    INTERRUPTED = 130


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an input: where, what, and what to do about it."""

    where: str
    message: str
    line: int | None = None
    field: str = ""

    def __str__(self) -> str:
        place = self.where if self.line is None else f"{self.where}:{self.line}"
        return f"{place}: {self.field}: {self.message}" if self.field else f"{place}: {self.message}"


class FarmError(Exception):
    """Base of all errors shown to a user as one or more plain lines."""

    exit_code: Exit = Exit.INFRASTRUCTURE


class InputError(FarmError):
    """The input is invalid; carries every problem found, not only the first."""

    exit_code = Exit.INVALID

    def __init__(self, problems: Iterable[Problem] | str):
        self.problems = [Problem("input", problems)] if isinstance(problems, str) else list(problems)
        text = problems if isinstance(problems, str) else "\n".join(str(p) for p in self.problems)
        super().__init__(text)


class NotFound(FarmError):
    """Nothing matched what was asked for."""

    exit_code = Exit.NOTHING_MATCHED


class Unreachable(FarmError):
    """A service that the command needs does not answer."""

    exit_code = Exit.INFRASTRUCTURE


class RecordError(FarmError):
    """A stored record is damaged or has a schema version that this release does not read."""

    exit_code = Exit.INFRASTRUCTURE
