"""Waiting for what passes by itself, up to a deadline, and saying what does not without the key."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential

from farm.errors import FarmError, Unreachable
from farm.llm.base import ModelRefused

T = TypeVar("T")

_SHOWN = 300
_DETAIL = 4000
_PASSING = frozenset({408, 409, 429})
_BACKOFF = wait_random_exponential(multiplier=0.2, max=20)

# Providers quote the key they refuse, partly starred out; the two ends they leave are secret enough.
_KEYLIKE = re.compile(r"\b(?:sk|pk|xai|gsk)-[\w*.-]{6,}")


@dataclass(frozen=True)
class Key:
    """An API key and the variable it came from. The secret is no part of its repr."""

    variable: str
    secret: str = field(repr=False)

    def scrub(self, text: str) -> str:
        """The text without the key."""
        if self.secret:
            text = text.replace(self.secret, "[key]")
        return _KEYLIKE.sub("[key]", text)


class Patience:
    """Sends requests through one SDK until a deadline that is shared by all of them."""

    def __init__(self, sdk: Any, model: str, key: Key, deadline: float):
        """`deadline` is in seconds from now; `sdk` is the module `openai` or `anthropic`."""
        self._sdk, self._model, self._key = sdk, model, key
        self._ends = time.monotonic() + deadline

    def send(self, request: Callable[[float], T]) -> T:
        """Send a request, again where waiting may help. It is given the seconds that are left.

        Raises:
            ModelRefused: asking again would not help.
            Unreachable: no answer before the deadline.

        """
        if self._left() <= 0:
            raise Unreachable(f"judge model {self._model!r}: the deadline has passed")
        retrying = Retrying(retry=retry_if_exception(self._passes), wait=_wait, stop=self._out_of_time, reraise=True)
        try:
            return retrying(lambda: request(max(self._left(), 0.001)))
        except self._sdk.APIError as error:
            failure = self._told(error)
        except ValueError as error:
            # A body that claims to be JSON and is not: the SDK lets the decoder's error through.
            failure = self.refusal("the provider's answer cannot be read", detail=str(error))
        # Raised outside the handlers: the SDK's error holds the request with its headers, and would
        # otherwise travel along as the context of ours.
        raise failure

    def refusal(self, message: str, status: int | None = None, detail: str = "", advice: str = "") -> ModelRefused:
        """A refusal in words that may be shown."""
        detail = self._key.scrub(detail)
        said = f": {_line(detail)}" if detail else ""
        text = f"judge model {self._model!r}: {message}{said}{f'; {advice}' if advice else ''}"
        return ModelRefused(text, status, detail[:_DETAIL])

    def _left(self) -> float:
        return self._ends - time.monotonic()

    def _out_of_time(self, state: RetryCallState) -> bool:
        return state.upcoming_sleep >= self._left()

    def _passes(self, error: BaseException) -> bool:
        if isinstance(error, self._sdk.APIStatusError):
            # An empty account answers 429 too, and no waiting fills it.
            return _may_pass(error.status_code) and getattr(error, "code", None) != "insufficient_quota"
        return isinstance(error, self._sdk.APIConnectionError)

    def _told(self, error: Any) -> FarmError:
        if isinstance(error, self._sdk.APIConnectionError):
            cause = error.__cause__
            return self._unreachable(f"{error} ({type(cause).__name__}: {cause})" if cause else str(error))
        if not isinstance(error, self._sdk.APIStatusError):
            return self.refusal("the provider's answer cannot be read", detail=str(error))
        if self._passes(error):
            return self._unreachable(_words(error))
        status, advice = int(error.status_code), ""
        if status in (401, 403):
            advice = f"check the key in {self._key.variable}" if self._key.secret else f"set {self._key.variable}"
        elif status == 404:
            advice = "check the model's id and base_url"
        return self.refusal(f"the provider refused ({status})", status, _words(error), advice)

    def _unreachable(self, why: str) -> Unreachable:
        return Unreachable(f"judge model {self._model!r}: no answer before the deadline: {_line(self._key.scrub(why))}")


def _may_pass(status: int) -> bool:
    return status in _PASSING or status >= 500


def _words(error: Any) -> str:
    """What the provider said. The SDKs put a body of unusual form into the error's attribute only."""
    text, body = str(error), error.body
    return text if not body or " - " in text else f"{text} - {body}"


def _line(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]


def _wait(state: RetryCallState) -> float:
    """What the server asks for, and a jittered backoff on top: a farm must not come back all at once."""
    error = state.outcome.exception() if state.outcome else None
    response = getattr(error, "response", None)
    asked = retry_after(str(response.headers.get("retry-after") or "")) if response is not None else 0.0
    return asked + _BACKOFF(state)


def retry_after(value: str) -> float:
    """Seconds that a `Retry-After` asks for, as a number or a date; 0 when empty or unreadable."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0
