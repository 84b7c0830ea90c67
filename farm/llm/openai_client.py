"""Any endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from farm.llm.base import ModelRefused, Reply, Turn, storable
from farm.llm.patience import Key, Patience
from farm.model.judge import ModelJudge

_HOME = "https://api.openai.com/v1"
_FORMATS = ("json_schema", "json_object", "none")
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "structured output", "json mode")

# Strict mode answers 400 to keywords outside its subset, which differs between providers. Validation
# holds every answer against them anyway.
_NOT_STRICT = frozenset({"maxLength", "minLength", "minimum", "maximum", "minItems", "maxItems"})


class OpenAIClient:
    """A judge behind chat completions. Learns from 400s what the endpoint does not support."""

    def __init__(self, spec: ModelJudge, model: str, key: Key, deadline: float):
        # Imported here: the SDK is optional, and slow to load.
        import openai

        self._spec, self._model = spec, model
        self._patience = Patience(openai, model, key, deadline)
        # base_url is always given, or the SDK would take one from its own variable: where a judge is
        # asked must stand in the sweep. The SDK wants some key even where the server wants none.
        client = openai.OpenAI(api_key=key.secret or "none", base_url=spec.base_url or _HOME, max_retries=0)
        self._create: Callable[..., Any] = client.chat.completions.create
        self._format = 0
        self._limit = "max_tokens"

    def ask(self, system: str, turns: list[Turn], schema: dict[str, Any]) -> Reply:
        """Ask once, the schema enforced by the server where it can."""
        messages = [{"role": "system", "content": system}]
        messages += [{"role": turn.role, "content": turn.text} for turn in turns]
        while True:
            request = {"model": self._model, "messages": messages, **self._options(schema)}
            try:
                return self._read(self._send(request))
            except ModelRefused as refused:
                if not self._adapt(refused):
                    raise

    def _send(self, request: dict[str, Any]) -> Any:
        return self._patience.send(lambda left: self._create(**request, timeout=left))

    def _options(self, schema: dict[str, Any]) -> dict[str, Any]:
        options: dict[str, Any] = {self._limit: self._spec.max_tokens}
        if self._spec.temperature is not None:
            options["temperature"] = self._spec.temperature
        match _FORMATS[self._format]:
            case "json_schema":
                wanted = {"name": "scores", "strict": True, "schema": strict_subset(schema)}
                options["response_format"] = {"type": "json_schema", "json_schema": wanted}
            case "json_object":
                options["response_format"] = {"type": "json_object"}
        return options

    def _adapt(self, refused: ModelRefused) -> bool:
        """Give up the one option that a 400 complains about; False when there is none left to give up."""
        if refused.status not in (400, 422):
            return False
        said = refused.detail.lower()
        if self._limit == "max_tokens" and "max_completion_tokens" in said:
            self._limit = "max_completion_tokens"
            return True
        if self._format + 1 < len(_FORMATS) and any(word in said for word in _FORMAT_WORDS):
            self._format += 1
            return True
        return False

    def _read(self, answer: Any) -> Reply:
        try:
            choice = answer.choices[0]
            text = choice.message.content or getattr(choice.message, "refusal", None) or ""
            usage = answer.usage
            return Reply(
                text=storable(text),
                input_tokens=(usage.prompt_tokens or 0) if usage else 0,
                output_tokens=(usage.completion_tokens or 0) if usage else 0,
                model=answer.model or self._model,
                stop=choice.finish_reason or "",
            )
        except (AttributeError, IndexError, TypeError):
            # Gateways report errors of what is behind them with status 200.
            raise self._patience.refusal("the answer is no chat completion", 200, _shown(answer)) from None


def strict_subset(schema: Any) -> Any:
    """The schema without the keywords that strict structured output may not hold."""
    if isinstance(schema, dict):
        return {key: strict_subset(value) for key, value in schema.items() if key not in _NOT_STRICT}
    if isinstance(schema, list):
        return [strict_subset(value) for value in schema]
    return schema


def _shown(answer: Any) -> str:
    dump = getattr(answer, "model_dump", None)
    return json.dumps(dump(exclude_none=True), default=str) if dump else str(answer)
