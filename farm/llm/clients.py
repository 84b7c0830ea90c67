"""Clients of hosted models, through their official SDKs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from farm.errors import FarmError, InputError
from farm.model.judge import ModelJudge

T = TypeVar("T")


class Turn(NamedTuple):
    """One message of a conversation."""

    role: str
    text: str


class Reply(NamedTuple):
    """A model's answer and what it cost."""

    text: str
    input_tokens: int
    output_tokens: int


class ModelRefused(FarmError):
    """The provider refused the request, or did not answer within the deadline."""


class JudgeClient(Protocol):
    """A model that answers in a given JSON Schema."""

    def ask(self, system: str, turns: list[Turn], schema: dict[str, Any]) -> Reply:
        """Ask once. Raises ModelRefused."""


def open_client(spec: ModelJudge, model: str, env: Mapping[str, str], deadline: float) -> JudgeClient:
    """A client for a judge; its key comes from the environment variable that the sweep names.

    Raises:
        InputError: the key or the SDK is missing.

    """
    variable = spec.api_key_env or f"{spec.type.upper()}_API_KEY"
    key = env.get(variable, "")
    local = urlsplit(spec.base_url or "").hostname in ("127.0.0.1", "localhost", "::1")
    if not key and not local:
        raise InputError(f"judge {model!r}: set {variable} in the worker's environment")
    try:
        if spec.type == "openai":
            return OpenAIClient(spec, model, key or "none", deadline)
        return AnthropicClient(spec, model, key or "none", deadline)
    except ImportError:
        raise InputError(f"judge {model!r}: the SDK is not installed; pip install 'evalfarm[llm]'") from None


class OpenAIClient:
    """Any endpoint that speaks OpenAI's chat completions."""

    def __init__(self, spec: ModelJudge, model: str, key: str, deadline: float):
        import openai

        self.spec, self.model, self.deadline, self.key = spec, model, deadline, key
        self.client = openai.OpenAI(api_key=key, base_url=spec.base_url, max_retries=0, timeout=deadline)

    def ask(self, system: str, turns: list[Turn], schema: dict[str, Any]) -> Reply:
        """Ask once, the schema enforced by the server where it can."""
        messages = [{"role": "system", "content": system}]
        messages += [{"role": turn.role, "content": turn.text} for turn in turns]
        wanted = {"type": "json_schema", "json_schema": {"name": "scores", "strict": True, "schema": schema}}
        more: dict[str, Any] = {} if self.spec.temperature is None else {"temperature": self.spec.temperature}
        create: Callable[..., Any] = self.client.chat.completions.create

        answer = _patiently(
            lambda: create(
                model=self.model,
                messages=messages,
                max_tokens=self.spec.max_tokens,
                response_format=wanted,
                **more,
            ),
            self.deadline,
            self.key,
        )
        usage = answer.usage
        return Reply(
            answer.choices[0].message.content or "",
            usage.prompt_tokens if usage else 0,
            usage.completion_tokens if usage else 0,
        )


class AnthropicClient:
    """Anthropic's Messages API; the schema is that of a tool the model must call."""

    def __init__(self, spec: ModelJudge, model: str, key: str, deadline: float):
        import anthropic

        self.spec, self.model, self.deadline, self.key = spec, model, deadline, key
        self.client = anthropic.Anthropic(api_key=key, base_url=spec.base_url, max_retries=0, timeout=deadline)

    def ask(self, system: str, turns: list[Turn], schema: dict[str, Any]) -> Reply:
        """Ask once."""
        more: dict[str, Any] = {} if self.spec.temperature is None else {"temperature": self.spec.temperature}
        create: Callable[..., Any] = self.client.messages.create
        answer = _patiently(
            lambda: create(
                model=self.model,
                system=system,
                messages=[{"role": turn.role, "content": turn.text} for turn in turns],
                max_tokens=self.spec.max_tokens,
                tools=[{"name": "submit_scores", "description": "Submit the scores.", "input_schema": schema}],
                tool_choice={"type": "tool", "name": "submit_scores"},
                **more,
            ),
            self.deadline,
            self.key,
        )
        blocks = [json.dumps(block.input) for block in answer.content if block.type == "tool_use"]
        text = blocks[0] if blocks else "".join(getattr(block, "text", "") for block in answer.content)
        return Reply(text, answer.usage.input_tokens, answer.usage.output_tokens)


def _patiently(request: Callable[[], T], deadline: float, key: str) -> T:
    """Retry what passes by itself (throttling, 5xx, broken connections) until the deadline."""
    from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

    retrying = Retrying(
        retry=retry_if_exception(_passing),
        stop=stop_after_delay(deadline),
        wait=wait_random_exponential(multiplier=0.2, max=20),
        reraise=True,
    )
    try:
        return retrying(request)
    except Exception as error:
        if not type(error).__module__.startswith(("openai", "anthropic", "httpx")):
            raise
        text = str(error).replace(key, "[key]") if key else str(error)
        raise ModelRefused(f"the judge's provider: {type(error).__name__}: {text[:300]}") from None


def _passing(error: BaseException) -> bool:
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in (408, 409, 429) or status >= 500
    return type(error).__name__ in ("APIConnectionError", "APITimeoutError")
