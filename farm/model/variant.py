"""A variant: one way of producing."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from farm.model.base import Model
from farm.model.scalars import Slug
from farm.model.script import Script


class ScriptProducer(Script):
    """A script does the work: a file (`.py` by python3, else by sh) or inline shell."""


class CommandProducer(Model):
    """A command line does the work, such as an agent's CLI.

    In each argument `{prompt_file}`, `{prompt}`, `{workdir}`, `{model}` and `{seed}` are replaced.
    """

    type: Literal["command"] = "command"
    argv: Annotated[tuple[str, ...], Field(min_length=1)]

    @field_validator("argv")
    @classmethod
    def _known_fields(cls, argv: tuple[str, ...]) -> tuple[str, ...]:
        for argument in argv:
            for name in re.findall(r"\{([a-z_]+)\}", argument):
                if name not in PLACEHOLDERS:
                    known = ", ".join("{" + p + "}" for p in PLACEHOLDERS)
                    raise ValueError(f"unknown placeholder {{{name}}} in {argument!r}; known are {known}")
        return argv


PLACEHOLDERS = ("prompt_file", "prompt", "workdir", "model", "seed")


class NopProducer(Model):
    """Does nothing: every scenario must fail under it."""

    type: Literal["nop"] = "nop"


class SolutionProducer(Model):
    """Applies the scenario's reference solution: every scenario must pass under it."""

    type: Literal["solution"] = "solution"


Producer = Annotated[ScriptProducer | CommandProducer | NopProducer | SolutionProducer, Field(discriminator="type")]


def _short_form(value: object) -> object:
    return {"type": value} if value in ("nop", "solution") else value


class VariantSpec(Model):
    """One variant of a sweep. Between the arms of a comparison only these fields differ."""

    name: Slug
    producer: Annotated[Producer, BeforeValidator(_short_form)]
    overlay: str | None = None
    """Directory whose files are staged into the worktree: the harness under test."""
    model: str | None = None
    family: str | None = None
    """Model family, when it cannot be told from the model's id."""
    env: Annotated[dict[str, str], Field(default_factory=dict)]
