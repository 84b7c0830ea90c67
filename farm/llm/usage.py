"""What asking a model cost, in tokens and requests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from farm.model.base import Model

Count = Annotated[int, Field(ge=0)]


class Usage(Model):
    """Tokens and answered requests. Usages add up."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    requests: Count = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            requests=self.requests + other.requests,
        )
