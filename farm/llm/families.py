"""The family of a model id. Unknown is said to be unknown, never guessed."""

from __future__ import annotations

import re

# What a name of the family begins with, as regular expressions. Words that are words elsewhere too
# (command, opus, phi) are held to the forms in which they name a model.
_STEMS: dict[str, tuple[str, ...]] = {
    "anthropic-claude": ("claude", r"(?:sonnet|opus|haiku)(?=$|[-_.@: ]?v?\d|-latest|\[)"),
    "openai-gpt": (
        r"gpt(?![-_]?(?:j|neo|neox|sw3)(?:[-_.:@ ]|$))(?!4all)",
        "chatgpt",
        "codex",
        "(?:text-|code-)?davinci",
        r"o[1-9](?=$|[-_.:@ ])",
    ),
    "google-gemini": ("gemini", "(?:code|med|shield|pali|t5)?gemma", r"palm(?=$|-?\d)", r"bard(?=$|-?\d)"),
    "mistral": ("(?:open-)?mi[sx]tral", "codestral", "ministral", "devstral", "magistral", "mathstral", "pixtral"),
    "deepseek": ("deepseek",),
    "meta-llama": (r"(?:code-?)?llama(?!\.cpp)",),
    "xai-grok": ("grok",),
    "cohere": (
        r"command(?=$|[:@]|-(?:r|a|light|nightly|text|xlarge|medium)(?![a-z]))",
        r"aya(?=$|[:@]|-?\d|-expanse|-vision)",
    ),
    "qwen": ("(?:code)?qwen", "q[wv]q"),
    "microsoft-phi": (r"phi(?=[-_]?\d)",),
    "moonshot-kimi": ("kimi", r"moonshot-(?=v\d)"),
    "zhipu-glm": ("(?:chat)?glm",),
    "ibm-granite": ("granite",),
    "smollm": ("smollm",),
}

# A stem may run on into a version (gpt4o, llama3, mistral7b, qwen2.5); then a separator or the end.
_END = r"(?:v?\d[0-9a-z]*)?(?=[-_.:@+ \[]|$)"
_FAMILIES = [(family, re.compile(rf"(?:{'|'.join(stems)}){_END}")) for family, stems in _STEMS.items()]

# What may stand in front of a name inside its own segment: an inference region of Bedrock, a vendor, a
# cloud, a provider before a colon. Anything in front of a slash is passed over whatever it is.
_FRONT = re.compile(
    r"ft:"
    r"|(?:us|us-gov|eu|apac|jp|au|ca|sa|me|global)\."
    r"|(?:anthropic|openai|google(?:-(?:gla|vertex)(?=:))?|meta|x-?ai|cohere|c4ai|mistral(?:ai)?|deepseek(?:-ai)?|qwen|alibaba|moonshot(?:ai)?"
    r"|microsoft|zhipu(?:ai)?|z-?ai|ibm|azure(?:[-_]ai)?|bedrock|vertex(?:[-_]ai)?|databricks"
    r"|openrouter|ollama|groq|together|fireworks|github)[-._:]+"
)

# Organisations that publish one family only, so that their name tells it where the model's does not.
_ORGANISATIONS = {
    "mistralai": "mistral",
    "meta-llama": "meta-llama",
    "x-ai": "xai-grok",
    "deepseek-ai": "deepseek",
    "moonshotai": "moonshot-kimi",
    "qwen": "qwen",
}


def family_of(model_id: str) -> str | None:
    """The family of a model id, or None when it is not known.

    Routers, clouds and organisations in front (`openrouter/anthropic/…`, `us.anthropic.…`, `azure/…`)
    are passed over; quotes and case do not matter.
    """
    *fronts, name = model_id.strip().strip("'\"").strip().lower().split("/")
    start = 0
    while True:
        for family, pattern in _FAMILIES:
            if pattern.match(name, start):
                return family
        front = _FRONT.match(name, start)
        if front is None:
            return _ORGANISATIONS.get(fronts[-1]) if fronts and name else None
        start = front.end()
