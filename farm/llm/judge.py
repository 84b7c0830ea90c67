"""The conversation with a judge model: one question, at most two re-asks.

How an answer is read and held against the rubric is the caller's (`check`): this package and
`farm.scoring` are neighbours and do not know each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from farm.errors import FarmError
from farm.llm.base import JudgeClient, Reply, Turn
from farm.llm.usage import Usage

T = TypeVar("T")

Check = Callable[[str], tuple[T | None, list[str]]]
"""Reads a reply's text: the valid answer, or None and every fault in one line each."""

REASKS = 2
_FAULTS_TOLD = 40


class Judgement(NamedTuple, Generic[T]):
    """What came of asking."""

    answer: T | None
    reason: str
    """Why there is no answer; empty when there is one."""
    asks: int
    usage: Usage
    replies: tuple[Reply, ...]
    """Every reply as it came, for the record."""


def judge(
    client: JudgeClient,
    system: str,
    question: str,
    schema: dict[str, Any],
    check: Check[T],
    reasks: int = REASKS,
) -> Judgement[T]:
    """Ask until an answer passes the check, with the faults of the last one as a new turn each time.

    Raises:
        FarmError: the first ask failed. When a later one does, tokens have been spent, and the judgement
            is returned without an answer but with them.

    """
    turns = [Turn("user", question)]
    replies: list[Reply] = []
    usage = Usage()
    faults: list[str] = []
    for asks in range(1, reasks + 2):
        try:
            reply = client.ask(system, turns, schema)
        except FarmError as error:
            if not replies:
                raise
            reason = f"ask {asks} failed: {error}; the answer before it: {'; '.join(_told(faults))}"
            return Judgement(None, reason, asks, usage, tuple(replies))
        replies.append(reply)
        usage += Usage(input_tokens=reply.input_tokens, output_tokens=reply.output_tokens, requests=1)
        answer, faults = check(reply.text)
        if answer is not None:
            return Judgement(answer, "", asks, usage, tuple(replies))
        if reply.truncated:
            faults = ["the answer was cut off at the token limit: keep it short", *faults]
        turns += [Turn("assistant", reply.text or "(empty)"), Turn("user", _complaint(faults))]
    reason = f"no valid answer in {reasks + 1} asks: {'; '.join(_told(faults))}"
    return Judgement(None, reason, reasks + 1, usage, tuple(replies))


def _told(faults: list[str]) -> list[str]:
    more = len(faults) - _FAULTS_TOLD
    return faults if more <= 0 else [*faults[:_FAULTS_TOLD], f"and {more} more"]


def _complaint(faults: list[str]) -> str:
    lines = "\n".join(f"- {fault}" for fault in _told(faults))
    return f"Your answer does not fit:\n{lines}\nSend the whole answer again, with every fault put right."
