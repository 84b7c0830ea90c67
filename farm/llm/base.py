"""What every client of a model has in common. Knows no provider."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from farm.errors import FarmError


class Turn(NamedTuple):
    """One message of a conversation."""

    role: str
    """`user` or `assistant`."""
    text: str


class Reply(NamedTuple):
    """A model's answer and what it cost."""

    text: str
    input_tokens: int
    output_tokens: int
    model: str = ""
    """The model as the provider names it; may be more exact than the id that was asked for."""
    stop: str = ""
    """Why it ended, in the provider's word."""

    @property
    def truncated(self) -> bool:
        """The answer ran into the token limit."""
        return self.stop in ("length", "max_tokens")


class ModelRefused(FarmError):
    """The provider turned the request down, or answered with something that is no answer."""

    def __init__(self, text: str, status: int | None = None, detail: str = ""):
        super().__init__(text)
        self.status = status
        self.detail = detail
        """The provider's words at more length, without the key."""


class JudgeClient(Protocol):
    """A model that answers in a given JSON Schema."""

    def ask(self, system: str, turns: list[Turn], schema: dict[str, Any]) -> Reply:
        """Ask once.

        Raises:
            ModelRefused: asking again would not help.
            Unreachable: no answer before the deadline.

        """


def storable(text: str) -> str:
    """The text without lone surrogates: JSON may hold them, UTF-8 (a record, the next request) may not."""
    return text.encode("utf-8", "replace").decode()
