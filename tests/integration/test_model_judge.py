"""Model judges through the real SDKs, over HTTP on loopback."""

from __future__ import annotations

import json

import pytest

from farm.errors import InputError
from farm.inputs.sweep_file import load_rubric
from farm.llm.base import ModelRefused
from farm.llm.clients import open_client
from farm.model.judge import ModelJudge
from farm.model.manifest import FrozenJudge
from farm.scoring.judge_prompt import JudgeFiles
from tests.engines.llm import provider
from workers.steps.asking import ask_model

RUBRIC, _ = load_rubric(None)
assert RUBRIC is not None
AXES = {"clarity": RUBRIC.types["run"].axes()["clarity"]}
GOOD = json.dumps({"axes": [{"name": "clarity", "score": 1, "confidence": 1, "code": None, "evidence": ""}]})
OFF = json.dumps({"axes": [{"name": "clarity", "score": 0.7, "confidence": 1, "code": None, "evidence": ""}]})
FILES = JudgeFiles(prompt=b"task", diff=b"+x", transcript=b"", oracle=b"[]", brief=b"")


def judged(server, kind, monkeypatch, deadline=20.0):
    monkeypatch.setenv("JUDGE_KEY", "sk-secret-value")
    base = server.url + ("/v1" if kind == "openai" else "")
    spec = ModelJudge(type=kind, model="m", base_url=base, api_key_env="JUDGE_KEY")
    frozen = FrozenJudge(spec=spec, argv=(), files=None, model="m", model_source="sweep", family=None)
    return ask_model(frozen, FILES, AXES, deadline)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_good_answer_is_taken_at_once(kind, monkeypatch):
    with provider(GOOD) as server:
        judgement = judged(server, kind, monkeypatch)
    assert [(a.name, a.score) for a in judgement.answer.axes] == [("clarity", 1.0)]
    assert (judgement.asks, judgement.usage.input_tokens, judgement.usage.output_tokens) == (1, 11, 7)
    (request,) = server.requests
    assert "sk-secret-value" in str(request["headers"]) and "sk-secret-value" not in str(request["body"])


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_an_answer_off_the_rubric_is_asked_again_with_its_faults(kind, monkeypatch):
    with provider(OFF, GOOD) as server:
        judgement = judged(server, kind, monkeypatch)
    assert judgement.reason == "" and judgement.asks == 2
    assert "score must be 0, 0.5 or 1" in json.dumps(server.requests[1]["body"])


def test_after_two_reasks_the_axes_are_na_with_the_reason(monkeypatch):
    with provider(OFF, "no json", OFF, GOOD) as server:
        judgement = judged(server, "openai", monkeypatch)
    assert judgement.answer is None and judgement.reason.startswith("no valid answer in 3 asks")
    assert len(server.requests) == 3


def test_what_passes_is_waited_for(monkeypatch):
    with provider(429, 503, GOOD) as server:
        assert judged(server, "openai", monkeypatch).asks == 1
    assert len(server.requests) == 3


def test_a_refusal_is_reported_without_the_key(monkeypatch):
    with provider(401) as server, pytest.raises(ModelRefused) as caught:
        judged(server, "openai", monkeypatch)
    assert "sk-secret-value" not in str(caught.value) and len(server.requests) == 1


def test_a_missing_key_names_its_variable():
    with pytest.raises(InputError, match="set OPENAI_API_KEY"):
        open_client(ModelJudge(type="openai", model="gpt-5"), "gpt-5", {}, 5)


@pytest.mark.parametrize(
    ("kind", "said"), [("run", "a change made"), ("spec", "a specification"), ("review", "a code review")]
)
def test_the_model_is_told_what_kind_of_work_it_judges(kind, said, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "k")
    with provider(GOOD) as server:
        spec = ModelJudge(type="openai", model="m", base_url=server.url + "/v1", api_key_env="JUDGE_KEY")
        frozen = FrozenJudge(spec=spec, argv=(), files=None, model="m", model_source="sweep", family=None)
        ask_model(frozen, FILES, AXES, 20, kind, "Label")
    (system, _) = server.requests[0]["body"]["messages"]
    assert said in system["content"] and "(Label)" in system["content"]
