"""The family of a model id. Unknown is said to be unknown, never guessed."""

from __future__ import annotations

import re

_STEMS: dict[str, tuple[str, ...]] = {
    "anthropic-claude": ("claude", "sonnet", "opus", "haiku"),
    "openai-gpt": ("gpt", "chatgpt", "codex", "davinci"),
    "google-gemini": ("gemini", "gemma", "palm", "bard"),
    "mistral": ("mistral", "mixtral", "codestral", "ministral", "devstral", "magistral"),
    "deepseek": ("deepseek",),
    "meta-llama": ("llama", "codellama", "code-llama"),
    "xai-grok": ("grok",),
    "cohere": ("command", "command-r", "aya"),
    "qwen": ("qwen", "qwq"),
    "microsoft-phi": ("phi",),
    "moonshot-kimi": ("kimi",),
    "zhipu-glm": ("glm",),
    "ibm-granite": ("granite",),
    "smollm": ("smollm",),
}

_PATTERNS = [
    # A stem may be followed by a version number, then by a separator or the end.
    (family, re.compile(rf"(?:{'|'.join(map(re.escape, stems))})(?:\d+[a-z]?)?(?=[-_.:@ ]|$)"))
    for family, stems in _STEMS.items()
]
_PATTERNS.append(("openai-gpt", re.compile(r"o[1-9](?=[-_.:@ ]|$)")))


def family_of(model_id: str) -> str | None:
    """The family of a model id, or None when it is not known.

    Routers, clouds and vendors in front (`openrouter/anthropic/…`, `us.anthropic.…`, `azure/…`) are
    passed over: each part after a slash, and each word after a dot, may be where the name begins.
    """
    last = model_id.strip().lower().rsplit("/", 1)[-1]
    starts = [0, *(match.end() for match in re.finditer(r"\.|:", last))]
    vendor = re.match(r"(?:anthropic|openai|google|meta|xai|cohere|mistralai|deepseek-ai)[-.]", last)
    if vendor:
        starts.append(vendor.end())
    for start in starts:
        for family, pattern in _PATTERNS:
            if pattern.match(last, start):
                return family
    return None
