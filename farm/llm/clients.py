"""Opening a client of a hosted model: which SDK, and the key from the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from farm.errors import InputError
from farm.llm.anthropic_client import AnthropicClient
from farm.llm.base import JudgeClient
from farm.llm.openai_client import OpenAIClient
from farm.llm.patience import Key
from farm.model.judge import ModelJudge

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def open_client(spec: ModelJudge, model: str, env: Mapping[str, str], deadline: float) -> JudgeClient:
    """A client for a judge; its key comes from the environment variable that the sweep names.

    Args:
        spec: the judge as the sweep gives it.
        model: the resolved model id (a sweep may leave it to a flag or a variable).
        env: the environment to take the key from.
        deadline: seconds from now within which all asking must end.

    Raises:
        InputError: the key or the SDK is missing, or a setting cannot be used.

    """
    who = f"judge model {model!r}"
    variable = spec.api_key_env or f"{spec.type.upper()}_API_KEY"
    if not _VARIABLE.fullmatch(variable):
        # Not quoted: it may well be the key itself, put in the wrong place.
        raise InputError(f"{who}: api_key_env must be the name of a variable, not a key")
    host = _host(spec.base_url, who)
    secret = env.get(variable, "").strip()
    if not secret and not _on_loopback(host):
        raise InputError(f"{who}: set {variable} in the worker's environment")
    if not all("!" <= letter <= "~" for letter in secret):
        # The HTTP client would quote the whole header in its complaint.
        raise InputError(f"{who}: {variable} holds characters that no key can have")
    opened = OpenAIClient if spec.type == "openai" else AnthropicClient
    try:
        return opened(spec, model, Key(variable, secret), deadline)
    except ImportError:
        raise InputError(f"{who}: its SDK is not installed; pip install 'evalfarm[llm]'") from None


def _host(base_url: str | None, who: str) -> str:
    if base_url is None:
        return ""
    try:
        parts = urlsplit(base_url)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("http", "https"):
        # The SDK would take it for a connection that fails, and wait.
        raise InputError(f"{who}: base_url must be an http or https address")
    return host


def _on_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdigit())
