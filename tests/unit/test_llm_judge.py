"""The conversation with a judge, and what clients share; no network."""

from __future__ import annotations

import sys
import time
from email.utils import formatdate

import pytest

from farm.errors import InputError, Unreachable
from farm.llm.base import ModelRefused, Reply, Turn, storable
from farm.llm.clients import open_client
from farm.llm.judge import judge
from farm.llm.openai_client import strict_subset
from farm.llm.patience import Key, retry_after
from farm.llm.usage import Usage
from farm.model.judge import ModelJudge


class Client:
    """Says what it is told to, and keeps what it was asked."""

    def __init__(self, *script):
        self.script, self.asked = list(script), []

    def ask(self, system, turns, schema):
        self.asked.append(list(turns))
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Reply) else Reply(said, 10, 3)


def check(text):
    return (text, []) if text == "good" else (None, [f"{text} is wrong", "so it is"])


def test_the_first_good_answer_is_taken():
    client = Client("good")
    done = judge(client, "s", "q", {}, check)
    assert (done.answer, done.reason, done.asks) == ("good", "", 1)
    assert done.usage == Usage(input_tokens=10, output_tokens=3, requests=1)
    assert client.asked == [[Turn("user", "q")]]


def test_faults_are_told_and_usage_is_summed():
    client = Client("bad", "", "good")
    done = judge(client, "s", "q", {}, check)
    assert (done.answer, done.asks, done.usage) == ("good", 3, Usage(input_tokens=30, output_tokens=9, requests=3))
    roles = [turn.role for turn in client.asked[2]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert "- bad is wrong\n- so it is" in client.asked[1][2].text
    # Providers refuse an empty message.
    assert client.asked[2][3].text == "(empty)"
    assert [reply.text for reply in done.replies] == ["bad", "", "good"]


def test_after_two_reasks_there_is_a_reason_and_every_reply():
    done = judge(Client("a", "b", "c", "good"), "s", "q", {}, check)
    assert (done.answer, done.reason) == (None, "no valid answer in 3 asks: c is wrong; so it is")
    assert (done.asks, len(done.replies)) == (3, 3)


def test_a_cut_off_answer_is_told_so():
    client = Client(Reply("ba", 1, 1, stop="max_tokens"), "good")
    assert judge(client, "s", "q", {}, check).answer == "good"
    assert "cut off at the token limit" in client.asked[1][2].text


def test_the_first_failure_is_raised_and_a_later_one_keeps_what_was_spent():
    with pytest.raises(ModelRefused):
        judge(Client(ModelRefused("no")), "s", "q", {}, check)
    done = judge(Client("bad", Unreachable("gone")), "s", "q", {}, check)
    assert done.answer is None and done.reason.startswith("ask 2 failed: gone; the answer before it: bad is wrong")
    assert (done.asks, done.usage.requests) == (2, 1)


def test_a_flood_of_faults_is_cut():
    client = Client("bad", "good")
    judge(client, "s", "q", {}, lambda text: check(text) if text == "good" else (None, ["f"] * 10_000))
    assert "and 9960 more" in client.asked[1][2].text and len(client.asked[1][2].text) < 1000


@pytest.mark.parametrize(
    ("value", "seconds"), [("0", 0), ("7", 7), ("1.5", 1.5), ("-3", 0), ("", 0), ("soon", 0), ("nan", 0), ("inf", 0)]
)
def test_retry_after(value, seconds):
    assert retry_after(value) == seconds


def test_retry_after_may_be_a_date():
    assert 3500 < retry_after(formatdate(time.time() + 3600, usegmt=True)) <= 3600
    assert retry_after(formatdate(0, usegmt=True)) == 0


def test_the_key_is_scrubbed_and_so_is_what_a_provider_leaves_of_it():
    key = Key("K", "Secret.1")
    assert "Secret.1" not in f"{key} {key!r}"
    assert key.scrub("got Secret.1, or sk-proj-ab***9xyZ.") == "got [key], or [key]"
    assert Key("K", "").scrub("none at all") == "none at all"


def test_strict_mode_gets_no_limits():
    schema = {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "string", "maxLength": 3, "enum": ["a"]}]}}
    assert strict_subset(schema) == {"type": "array", "items": {"anyOf": [{"type": "string", "enum": ["a"]}]}}


def test_lone_surrogates_are_replaced():
    assert storable("a\ud800b") == "a?b"


@pytest.mark.parametrize(
    ("fields", "env", "problem"),
    [
        ({"type": "openai"}, {}, "set OPENAI_API_KEY"),
        ({"type": "anthropic"}, {"OPENAI_API_KEY": "k"}, "set ANTHROPIC_API_KEY"),
        ({"type": "openai", "api_key_env": "MINE"}, {"OPENAI_API_KEY": "k", "MINE": " "}, "set MINE"),
        ({"type": "openai", "base_url": "http://127.0.0.1.example.com/v1"}, {}, "set OPENAI_API_KEY"),
        ({"type": "openai", "api_key_env": "sk-abc-123"}, {}, "name of a variable"),
        ({"type": "openai"}, {"OPENAI_API_KEY": "ab\ncd"}, "no key can have"),
        ({"type": "openai", "base_url": "localhost:8000"}, {}, "http or https address"),
        ({"type": "openai", "base_url": "http://[::1/v1"}, {}, "http or https address"),
    ],
)
def test_settings_that_cannot_work_are_named_without_the_key(fields, env, problem):
    with pytest.raises(InputError, match=problem) as caught:
        open_client(ModelJudge(**fields), "m", env, 5)
    assert "sk-abc-123" not in str(caught.value) and "cd" not in str(caught.value)


@pytest.mark.parametrize(
    "base_url", ["http://127.0.0.1:1/v1", "http://localhost:1", "http://[::1]:1", "http://127.9.9.9"]
)
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_loopback_needs_no_key(kind, base_url):
    open_client(ModelJudge(type=kind, base_url=base_url), "m", {}, 5)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_missing_sdk_is_named(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(InputError, match=r"pip install 'evalfarm\[llm\]'"):
        open_client(ModelJudge(type=kind), "m", {f"{kind.upper()}_API_KEY": "k"}, 5)
