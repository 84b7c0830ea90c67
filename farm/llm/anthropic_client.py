"""Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from farm.llm.base import Reply, Turn, storable
from farm.llm.patience import Key, Patience
from farm.model.judge import ModelJudge

_HOME = "https://api.anthropic.com"
_TOOL = "submit_scores"
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicClient:
    """A judge behind the Messages API. The schema is that of a tool the model must call."""

    def __init__(self, spec: ModelJudge, model: str, key: Key, deadline: float):
        # Imported here: the SDK is optional, and slow to load.
        import anthropic

        self._spec, self._model = spec, model
        self._patience = Patience(anthropic, model, key, deadline)
        # base_url is always given; see OpenAIClient.
        client = anthropic.Anthropic(api_key=key.secret or "none", base_url=spec.base_url or _HOME, max_retries=0)
        self._create: Callable[..., Any] = client.messages.create

    def ask(self, system: str, turns: list[Turn], schema: dict[str, Any]) -> Reply:
        """Ask once."""
        request: dict[str, Any] = {
            "model": self._model,
            "system": system,
            "messages": [{"role": turn.role, "content": turn.text} for turn in turns],
            "max_tokens": self._spec.max_tokens,
            "tools": [{"name": _TOOL, "description": "Hand in the scores.", "input_schema": schema}],
            "tool_choice": {"type": "tool", "name": _TOOL},
        }
        if self._spec.temperature is not None:
            # Absent, not null, when the sweep leaves it open: some models take no temperature at all.
            request["temperature"] = self._spec.temperature
        return self._read(self._patience.send(lambda left: self._create(**request, timeout=left)))

    def _read(self, answer: Any) -> Reply:
        try:
            called = [json.dumps(block.input) for block in answer.content if block.type == "tool_use"]
            said = "".join(getattr(block, "text", None) or "" for block in answer.content)
            usage = answer.usage
            return Reply(
                text=storable(called[0] if called else said),
                input_tokens=(usage.input_tokens or 0) + sum(getattr(usage, name, None) or 0 for name in _CACHED),
                output_tokens=usage.output_tokens or 0,
                model=answer.model or self._model,
                stop=answer.stop_reason or "",
            )
        except (AttributeError, IndexError, TypeError):
            raise self._patience.refusal("the answer is no message", 200, str(answer)) from None
