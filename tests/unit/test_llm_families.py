"""The family of a model id, with every misreading of the ancestor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.llm.families import family_of

KNOWN = {
    "anthropic-claude": """
        claude-sonnet-4-5 claude claude-3-5-sonnet@20240620 anthropic/claude-3.5-sonnet:beta anthropic.claude-v2:1
        us.anthropic.claude-sonnet-4-20250514-v1:0 bedrock/eu.anthropic.claude-3-haiku
        openrouter/anthropic/claude-opus-4
        vertex_ai/claude-3-5-sonnet anthropic:claude-sonnet-4 anthropic--claude-4-sonnet databricks-claude-sonnet-4
        sonnet opus haiku SONNET opus-4.1 sonnet4 sonnet[1m] haiku-latest Claude-Instant
        arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4
    """,
    "openai-gpt": """
        gpt4 gpt5-mini gpt-4o gpt-4.1-mini gpt-35-turbo gpt-oss-120b openai/gpt-5 azure/gpt-4o openrouter/openai/gpt-5
        openai:gpt-4o openai.gpt-oss-120b-1:0 ft:gpt-4o-mini-2024-07-18:org::id chatgpt-4o-latest codex-mini-latest
        davinci-002 text-davinci-003 o1 o3-mini o4-mini-high o9 openai/o1-preview GPT-4O gpt-5-codex
    """,
    "google-gemini": """
        gemini-2.5-pro google/gemini-pro vertex_ai/gemini-1.5-flash models/gemini-2.0-flash gemini/gemini-2.5-flash
        google-gla:gemini-2.0 gemma-3-27b-it gemma3:27b google/gemma-2-9b codegemma palm-2 bard
    """,
    "mistral": """
        mistral-large-latest mistralai/mistral-small mistralai/Mixtral-8x7B-Instruct mistralai/Something-New
        mistral.mistral-large-2402-v1:0 codestral-2501 ministral-8b devstral magistral-medium mistral7b
        open-mixtral-8x22b
    """,
    "deepseek": "deepseek-chat deepseek-ai/DeepSeek-V3 deepseek/deepseek-r1 us.deepseek.r1-v1:0 deepseek-r1:70b",
    "meta-llama": """
        llama3-70b llama-3.3-70b meta-llama/llama-3 meta-llama/Llama-3.1-8B-Instruct meta.llama3-70b-instruct-v1:0
        ollama/llama3:8b llama2 codellama code-llama-34b accounts/fireworks/models/llama-v3p1-70b-instruct
        Meta-Llama-3-8B
        groq/llama-3.1-8b-instant us.meta.llama4-scout
    """,
    "xai-grok": "grok-4 x-ai/grok-4 xai/grok-3 openrouter/x-ai/grok-code-fast-1 grok4 xai.grok-3",
    "cohere": """
        command command-r command-r-plus command-r7b-12-2024 command-a-03-2025 cohere/command-r cohere.command-text-v14
        command-light aya-expanse-32b c4ai-command-r-v01
    """,
    "qwen": "qwen2.5-coder qwen3-235b Qwen/Qwen2.5-72B qwen/qwq-32b qwen-max qwen3:8b openrouter/qwen/qwen3-coder",
    "microsoft-phi": "phi-4 phi3 phi3.5-mini microsoft/Phi-3-mini-4k azure_ai/phi-4 ollama/phi4:14b phi-1_5",
    "moonshot-kimi": "kimi-k2 moonshotai/kimi-k2-instruct moonshot-v1-8k",
    "zhipu-glm": "glm-4.5 z-ai/glm-4.6 zai-org/GLM-4.5-Air chatglm3-6b glm4",
    "ibm-granite": "granite-3.3-8b-instruct ibm-granite/granite-20b-code ibm/granite-3 granite3.3:8b",
}

UNKNOWN = """
    o365-thing commander command-line-helper commando o10 o365 openrouter/auto azure/my-deployment something-new
    gptx gpt-j-6b gpt-neo-2.7b gpt4all-13b llama.cpp llama.cpp/mymodel ollama groq/whisper opus-mt-en-fr opusculum
    claudette phil phi grokking palmtree barda mymodel:gpt amazon.nova-pro-v1:0 microsoft/wizardlm opencode
    sonneteer o1x openai/whisper-1 / // mistralai/
"""


@pytest.mark.parametrize(("model", "family"), [(m, f) for f, models in KNOWN.items() for m in models.split()])
def test_known(model, family):
    assert family_of(model) == family


@pytest.mark.parametrize("model", [*UNKNOWN.split(), "", " "])
def test_unknown_is_said_to_be_unknown(model):
    assert family_of(model) is None


@pytest.mark.parametrize("model", ['"gpt-4o"', "'gpt-4o'", "  gpt-4o\n", "GPT 4"])
def test_quotes_case_and_space_do_not_matter(model):
    assert family_of(model) == "openai-gpt"


def test_every_listed_family_is_reachable_and_no_two_names_are_one():
    assert len({family_of("sonnet"), family_of("opus"), family_of("haiku")}) == 1


@given(st.text(max_size=80))
def test_any_text_gives_a_family_or_none(text):
    assert family_of(text) is None or family_of(text) == family_of(text.upper().lower())


@given(st.sampled_from([m for models in KNOWN.values() for m in models.split() if ":" not in m]))
def test_a_router_in_front_changes_nothing(model):
    assert family_of(f"openrouter/{model}") == family_of(f"some-proxy/team/{model}") == family_of(model)
