"""A real S3 API over HTTP for tests, and a proxy that makes it worse.

The server is moto's, as a process of its own on loopback; it is started and ended by pid.
"""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class S3Endpoint(dict[str, str]):
    """The environment that reaches a server; its parts also by name."""

    def __init__(self, url: str, access_key: str = "test", secret_key: str = "test-secret"):
        super().__init__(FARM_S3_ENDPOINT_URL=url, AWS_ACCESS_KEY_ID=access_key, AWS_SECRET_ACCESS_KEY=secret_key)
        self.url = url
        self.access_key = access_key
        self.secret_key = secret_key

    @property
    def env(self) -> dict[str, str]:
        """A copy as a plain dict."""
        return dict(self)

    def at(self, url: str) -> S3Endpoint:
        """The same server reached by another URL."""
        return S3Endpoint(url, self.access_key, self.secret_key)


@contextmanager
def s3_server() -> Iterator[S3Endpoint]:
    """Start a server; yields how to reach it, once it answers."""
    server, url = _start()
    try:
        yield S3Endpoint(url)
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(10)


def _start() -> tuple[subprocess.Popen[bytes], str]:
    for _ in range(3):  # another process may take the free port before the server does
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        url = f"http://127.0.0.1:{port}"
        for _ in range(1200):
            if server.poll() is not None:
                break
            if _answers(url):
                return server, url
            time.sleep(0.05)
        else:
            server.kill()
            server.wait(10)
    raise AssertionError("the S3 server does not start")


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=1).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


class Fate(Enum):
    """What the proxy does with a request."""

    PASS = "pass"
    LOSE_REPLY = "lose the reply"
    """The server gets it and acts; the client sees the connection end without an answer."""
    UNAVAILABLE = "503"
    """The server never sees it."""


@dataclass
class Request:
    """What a judge of fates sees; it may change the headers (names as sent, look up in lower case)."""

    method: str
    path: str
    headers: dict[str, str]


@contextmanager
def proxy(endpoint: S3Endpoint, judge: Callable[[Request], Fate]) -> Iterator[S3Endpoint]:
    """An HTTP proxy in front of a server. `judge` is called for every request, from many threads."""
    target = urlsplit(endpoint.url).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            skipped = ("connection", "expect", "content-length")
            request = Request(
                self.command, self.path, {k.lower(): v for k, v in self.headers.items() if k.lower() not in skipped}
            )
            fate = judge(request)
            if fate is Fate.UNAVAILABLE:
                self._answer(503, {}, b"")
                return
            upstream = http.client.HTTPConnection(target, timeout=30)
            upstream.request(request.method, request.path, body, request.headers)
            reply = upstream.getresponse()
            content = reply.read()
            upstream.close()
            if fate is Fate.LOSE_REPLY:
                self.close_connection = True
                return
            self._answer(reply.status, dict(reply.getheaders()), content)

        def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                    self.send_header(name, value)
            length = headers.get("Content-Length") if self.command == "HEAD" else None
            self.send_header("Content-Length", length or str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _handle

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint.at(f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
