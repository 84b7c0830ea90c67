"""A local HTTP server that speaks enough of two providers' APIs for their real SDKs."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Said:
    """A model's answer. A text that is a JSON object is a tool call at Anthropic's endpoint."""

    text: str
    stop: str | None = None
    """`finish_reason` or `stop_reason`, when it is not the usual one."""


@dataclass(frozen=True)
class Status:
    """An HTTP answer as it stands: a status with headers and a body (JSON, or bytes as they are)."""

    code: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Drop:
    """The connection ends without an answer."""


DROP = Drop()
Reply = str | int | Said | Status | Drop
Scripted = Reply | Callable[[dict[str, Any]], Reply]
"""A text, an HTTP status, one of the above, or a function of the recorded request."""


class Provider(ThreadingHTTPServer):
    """Answers with the scripted replies in turn, and keeps the requests (path, headers by lower-case name, body)."""

    daemon_threads = True

    def __init__(self, replies: list[Scripted]):
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """Address without a path: Anthropic's `base_url`."""
        return f"http://127.0.0.1:{self.server_port}"

    def base_url(self, kind: str) -> str:
        """The `base_url` of a judge of type `openai` or `anthropic`."""
        return f"{self.url}/v1" if kind == "openai" else self.url

    def next_reply(self, request: dict[str, Any]) -> Reply:
        with self._lock:
            self.requests.append(request)
            # 400 and not 500: a client must not wait for a script that has ended.
            reply = self.replies.pop(0) if self.replies else Status(400, {"error": {"message": "the script has ended"}})
        return reply(request) if callable(reply) else reply

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Quiet: clients hang up on purpose here."""


class _Handler(BaseHTTPRequestHandler):
    server: Provider
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path not in ("/v1/chat/completions", "/v1/messages"):
            self._answer(Status(404, {"error": {"message": f"no such path: {self.path}"}}))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.next_reply({"path": self.path, "headers": headers, "body": body})
        if isinstance(reply, Drop):
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
        elif isinstance(reply, int):
            # Some servers quote the key they were sent.
            sent = self.headers.get("Authorization") or self.headers.get("x-api-key")
            self._answer(Status(reply, {"error": {"type": "refused", "message": f"refused, you sent {sent}"}}))
        elif isinstance(reply, Status):
            self._answer(reply)
        else:
            said = reply if isinstance(reply, Said) else Said(reply)
            form = _message if self.path == "/v1/messages" else _completion
            self._answer(Status(200, form(said, body["model"])))

    def _answer(self, status: Status) -> None:
        data = status.body if isinstance(status.body, bytes) else json.dumps(status.body).encode()
        self.send_response(status.code)
        for name, value in {"Content-Type": "application/json", **status.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def _completion(said: Said, model: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": said.text}
    choice = {"index": 0, "finish_reason": said.stop or "stop", "message": message}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    head = {"id": "c", "object": "chat.completion", "created": 0, "model": f"{model}-exact"}
    return {**head, "choices": [choice], "usage": usage}


def _message(said: Said, model: str) -> dict[str, Any]:
    try:
        called = json.loads(said.text)
    except ValueError:
        called = None
    if isinstance(called, dict):
        block = {"type": "tool_use", "id": "t1", "name": "submit_scores", "input": called}
    else:
        block = {"type": "text", "text": said.text}
    stop = said.stop or ("tool_use" if isinstance(called, dict) else "end_turn")
    head = {"id": "m", "type": "message", "role": "assistant", "model": f"{model}-exact", "content": [block]}
    return {**head, "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 7}}


@contextmanager
def provider(*replies: Scripted) -> Iterator[Provider]:
    """Serve scripted replies on loopback."""
    server = Provider(list(replies))
    # A short poll: shutdown waits for it.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
