"""Judge models through the real SDKs, over HTTP on loopback: what is sent, what is waited for, what is told."""

from __future__ import annotations

import json
import logging
import traceback

import pytest

from farm.errors import FarmError, Unreachable
from farm.llm.base import ModelRefused, Turn
from farm.llm.clients import open_client
from farm.llm.judge import judge
from farm.model.judge import ModelJudge
from farm.model.rubric import AxisSpec
from farm.scoring.judge_prompt import JudgeFiles, judge_messages
from farm.scoring.judgement import answer_schema, check_reply
from tests.engines.llm import DROP, Said, Status, provider

AXES = {"clarity": AxisSpec(codes=("C-ONE",)), "memory": AxisSpec(codes=("M-ONE",))}
ITEM = {"score": 1, "confidence": 1, "code": None, "evidence": ""}
GOOD = json.dumps({"axes": [{"name": name, **ITEM} for name in AXES]})
OFF = json.dumps({"axes": [{"name": name, **ITEM, "score": 0.7} for name in AXES]})
FILES = JudgeFiles(b"task", b"+x", b"I did it", b"[]", b"")
SECRET = "Kq7-secret-value"

both = pytest.mark.parametrize("kind", ["openai", "anthropic"])


def opened(server, kind, deadline=20.0, **fields):
    spec = ModelJudge(type=kind, base_url=server.base_url(kind), api_key_env="JUDGE_KEY", **fields)
    return open_client(spec, "m", {"JUDGE_KEY": f"{SECRET}\n"}, deadline)


def judged(server, kind, **fields):
    system, question = judge_messages(FILES, AXES, "0123456789abcdef")
    client = opened(server, kind, **fields)
    return judge(client, system, question, answer_schema(AXES), lambda text: check_reply(text, AXES))


def asked(server, kind, **fields):
    return opened(server, kind, **fields).ask("s", [Turn("user", "q")], answer_schema(AXES))


def refused(request):
    """A 400 to any response format, as older servers give it."""
    if "response_format" in request["body"]:
        return Status(400, {"error": {"message": "response_format is not supported here"}})
    return GOOD


@both
def test_a_good_answer_is_taken_at_once(kind):
    with provider(GOOD) as server:
        done = judged(server, kind)
    assert done.answer is not None and [axis.name for axis in done.answer.axes] == list(AXES)
    assert (done.asks, done.usage.input_tokens, done.usage.output_tokens) == (1, 11, 7)
    assert done.replies[0].model == "m-exact"
    (request,) = server.requests
    assert request["body"]["max_tokens"] == 4096 and "temperature" not in request["body"]
    assert SECRET in str(request["headers"]) and SECRET not in str(request["body"])


def test_openai_enforces_the_schema_and_passes_settings():
    with provider(GOOD) as server:
        judged(server, "openai", temperature=0.2, max_tokens=99)
    body = server.requests[0]["body"]
    wanted = body["response_format"]["json_schema"]
    assert wanted["strict"] is True and "maxLength" not in json.dumps(wanted)
    assert (body["temperature"], body["max_tokens"]) == (0.2, 99)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert server.requests[0]["headers"]["authorization"] == f"Bearer {SECRET}"


def test_anthropic_must_call_the_tool():
    with provider(GOOD) as server:
        judged(server, "anthropic")
    body, headers = server.requests[0]["body"], server.requests[0]["headers"]
    assert body["tool_choice"] == {"type": "tool", "name": body["tools"][0]["name"]}
    assert body["tools"][0]["input_schema"] == answer_schema(AXES)
    # Which of the two depends on the SDK's version.
    assert SECRET in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))


@both
def test_an_answer_off_the_rubric_is_asked_again_with_its_faults(kind):
    with provider(OFF, GOOD) as server:
        done = judged(server, kind)
    assert (done.answer is not None, done.asks, len(server.requests)) == (True, 2, 2)
    messages = server.requests[1]["body"]["messages"]
    assert "- memory: score must be 0, 0.5 or 1" in messages[-1]["content"]
    assert json.loads(messages[-2]["content"]) == json.loads(OFF)


@both
def test_three_bad_answers_give_a_reason_and_no_fourth_request(kind):
    with provider(OFF, "no json at all", OFF, GOOD) as server:
        done = judged(server, kind)
    assert done.answer is None and "score must be 0, 0.5 or 1" in done.reason
    assert (done.asks, len(server.requests), len(done.replies), done.usage.requests) == (3, 3, 3, 3)
    assert done.usage.output_tokens == 21


@both
@pytest.mark.parametrize(
    "fault", [Status(429, {}, {"Retry-After": "0"}), Status(429, {}, {"Retry-After": "soon"}), 408, 409, 500, 529, DROP]
)
def test_what_passes_is_waited_for(kind, fault):
    with provider(fault, GOOD) as server:
        assert asked(server, kind).text
    assert len(server.requests) == 2


@both
def test_waiting_ends_before_the_deadline_would_pass(kind):
    busy = Status(429, {"error": {"message": "slow down"}}, {"Retry-After": "3600"})
    with provider(busy, GOOD) as server, pytest.raises(Unreachable, match="slow down"):
        asked(server, kind)
    assert len(server.requests) == 1


@both
def test_the_deadline_is_one_for_all_asks(kind):
    with provider(GOOD) as server, pytest.raises(Unreachable, match="deadline has passed"):
        asked(server, kind, deadline=0.0)
    assert server.requests == []


def test_an_empty_account_is_not_waited_for():
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    with provider(Status(429, body), GOOD) as server, pytest.raises(ModelRefused, match="exceeded your quota"):
        asked(server, "openai")
    assert len(server.requests) == 1


@both
@pytest.mark.parametrize(
    ("status", "advice"), [(401, "JUDGE_KEY"), (403, "JUDGE_KEY"), (404, "base_url"), (400, "400"), (413, "413")]
)
def test_a_refusal_is_not_retried_and_never_tells_the_key(kind, status, advice, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with provider(status, GOOD) as server, pytest.raises(ModelRefused, match=advice) as caught:
        asked(server, kind)
    assert len(server.requests) == 1 and caught.value.status == status
    # The server quotes the key in its answer: it must be gone from all that may be shown or logged.
    assert "[key]" in str(caught.value)
    told = "".join(traceback.format_exception(caught.value, chain=True))
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    shown = (str(caught.value), repr(caught.value), caught.value.detail, told, caplog.text, *capfd.readouterr())
    assert not any(SECRET in text for text in shown)


@both
def test_a_failure_that_lasts_never_tells_the_key_either(kind, caplog):
    caplog.set_level(logging.DEBUG)
    with provider(*[500] * 50) as server, pytest.raises(FarmError) as caught:
        asked(server, kind, deadline=0.3)
    assert SECRET not in f"{caught.value!r}{caplog.text}" and isinstance(caught.value, Unreachable)


@both
def test_nothing_of_a_client_shows_the_key(kind):
    with provider() as server:
        client = opened(server, kind)
    assert SECRET not in f"{client!r}{client}{vars(client)}{vars(client._patience)}"


@both
@pytest.mark.parametrize("stop", ["length", "max_tokens"])
def test_a_cut_off_answer_is_asked_again(kind, stop):
    with provider(Said('{"axes": [{"name": "clar', stop), GOOD) as server:
        done = judged(server, kind)
    assert done.asks == 2 and done.replies[0].truncated
    assert "cut off at the token limit" in server.requests[1]["body"]["messages"][-1]["content"]


def test_a_tool_call_that_was_cut_off_is_asked_again():
    with provider(Said("{}", "max_tokens"), GOOD) as server:
        assert judged(server, "anthropic").asks == 2


def test_anthropic_text_instead_of_the_call_is_read_too():
    with provider(f"Here:\n{GOOD}") as server:
        assert judged(server, "anthropic").asks == 1


def test_an_unsupported_format_is_given_up_once_and_remembered():
    with provider(refused, refused, Said(OFF), refused) as server:
        done = judged(server, "openai")
    assert done.answer is not None and done.asks == 2
    formats = [request["body"].get("response_format", {}).get("type") for request in server.requests]
    assert formats == ["json_schema", "json_object", None, None]


def test_a_server_that_knows_json_object_keeps_it():
    complaint = Status(422, {"detail": "'json_schema' is not one of ['text', 'json_object']"})
    with provider(complaint, Said(OFF), GOOD) as server:
        assert judged(server, "openai").asks == 2
    formats = [request["body"]["response_format"]["type"] for request in server.requests]
    assert formats == ["json_schema", "json_object", "json_object"]


def test_the_newer_name_of_the_token_limit_is_learnt():
    text = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    with provider(Status(400, {"error": {"message": text}}), GOOD) as server:
        judged(server, "openai", max_tokens=50)
    body = server.requests[1]["body"]
    assert body["max_completion_tokens"] == 50 and "max_tokens" not in body


@both
@pytest.mark.parametrize(
    "body", [b"<html>hello</html>", b'{"error": {"message": "upstream failed"}}', b"[]", b"null", b""]
)
@pytest.mark.parametrize("content", ["application/json", "text/html"])
def test_a_200_that_is_no_answer_is_a_refusal(kind, body, content):
    with provider(Status(200, body, {"Content-Type": content})) as server, pytest.raises(ModelRefused):
        asked(server, kind)
    assert len(server.requests) == 1


@both
def test_an_answer_with_lone_surrogates_can_be_quoted_back(kind):
    with provider("\ud800 oops", GOOD) as server:
        assert judged(server, kind).asks == 2


def test_another_base_url_of_the_environment_changes_nothing(monkeypatch):
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for kind, home in (("openai", "api.openai.com"), ("anthropic", "api.anthropic.com")):
        client = open_client(ModelJudge(type=kind), "m", {f"{kind.upper()}_API_KEY": "k"}, 5)
        # The bound method of the SDK's resource leads to the client that it would send with.
        assert client._create.__self__._client.base_url.host == home
