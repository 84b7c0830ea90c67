"""A script that takes part in a trial, as producer or as judge."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from farm.model.base import Model


class Script(Model):
    """A file (`.py` by python3, else by sh) or inline shell."""

    type: Literal["script"] = "script"
    file: str | None = None
    run: str | None = None

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.file is None) == (self.run is None):
            raise ValueError("give either file or run")
        return self
