"""A local HTTP server that speaks enough of two providers' APIs for their real SDKs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Provider(ThreadingHTTPServer):
    """Answers with the scripted replies in turn: a text, or an HTTP status."""

    def __init__(self, replies: list[str | int]):
        self.replies = list(replies)
        self.requests: list[dict] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({"path": self.path, "headers": dict(self.headers), "body": body})
        reply = self.server.replies.pop(0)
        if isinstance(reply, int):
            self._answer(reply, {"error": {"message": f"refused, you sent {self.headers.get('Authorization')}"}})
        elif self.path.endswith("/messages"):
            block = {"type": "tool_use", "id": "t1", "name": "submit_scores", "input": json.loads(reply)}
            usage = {"input_tokens": 11, "output_tokens": 7}
            message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [block]}
            self._answer(200, {**message, "stop_reason": "tool_use", "stop_sequence": None, "usage": usage})
        else:
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply}}
            usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
            head = {"id": "c", "object": "chat.completion", "created": 0, "model": "x"}
            self._answer(200, {**head, "choices": [choice], "usage": usage})

    def _answer(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def provider(*replies: str | int) -> Iterator[Provider]:
    """Serve scripted replies on loopback."""
    server = Provider(list(replies))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
