"""A server on this machine that speaks S3, one for all tests of this folder that a process runs.

It is moto's, behind a page that notes what is asked for and fails where a test wants it to.
"""

from __future__ import annotations

import http.client
import itertools
import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Nobody looks whether it is right, but without one nothing can be written over.
_SIGNED = "AWS4-HMAC-SHA256 Credential=somebody/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
_DENIED = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
_BUSY = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


@dataclass(frozen=True)
class Request:
    """What was asked for, and what it brought."""

    method: str
    path: str
    query: str
    range: str | None
    sent: int


@dataclass
class Store:
    """A bucket of its own for a test."""

    host: str
    port: int
    bucket: str
    requests: list[Request] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    """Methods that are refused with 403."""
    busy: int = 0
    """How many of the next requests are answered with "slow down"."""

    def address(self, key: str) -> str:
        return f"s3://{self.bucket}/{key}"

    def put(self, key: str, content: bytes | str) -> str:
        data = content.encode() if isinstance(content, str) else content
        assert self._ask("PUT", f"/{self.bucket}/{key}", data)[0] == 200
        return self.address(key)

    def get(self, key: str) -> bytes | None:
        status, data = self._ask("GET", f"/{self.bucket}/{key}")
        return data if status == 200 else None

    def keys(self) -> list[str]:
        text = self._ask("GET", f"/{self.bucket}")[1].decode()
        return [part.partition("</Key>")[0] for part in text.split("<Key>")[1:]]

    def uploads(self) -> int:
        """Return how many uploads were begun and neither finished nor given up."""
        return self._ask("GET", f"/{self.bucket}?uploads")[1].decode().count("<Upload>")

    def _ask(self, method: str, path: str, data: bytes = b"") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.host, self.port)
        headers = {"Content-Type": "application/octet-stream", "Authorization": _SIGNED, "X-Test": "1"}
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found


class Watched:
    """A WSGI application that notes requests and can refuse them; those of the tests themselves pass."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self.store: Store | None = None

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        store = self.store
        if store is None or "HTTP_X_TEST" in environ:
            return self._application(environ, start_response)
        method = environ["REQUEST_METHOD"]
        answer = b""
        if store.busy:
            store.busy -= 1
            start_response("503 Slow Down", [("Content-Type", "application/xml")])
            answer = b"" if method == "HEAD" else _BUSY
        elif method in store.denied:
            start_response("403 Forbidden", [("Content-Type", "application/xml")])
            answer = b"" if method == "HEAD" else _DENIED
        else:
            answer = b"".join(self._application(environ, start_response))
        wanted = environ.get("HTTP_RANGE")
        store.requests.append(Request(method, environ["PATH_INFO"], environ["QUERY_STRING"], wanted, len(answer)))
        return [answer]


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[Watched, int]]:
    """Start the server; it ends with the tests."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").disabled = True
    watched = Watched(DomainDispatcherApplication(create_backend_app))
    serving = make_server("127.0.0.1", 0, watched, threaded=True)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    try:
        yield watched, serving.server_port
    finally:
        serving.shutdown()
        serving.server_close()
        thread.join()


_numbers = itertools.count(1)


@pytest.fixture
def store(server: tuple[Watched, int], monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Make an empty bucket, and let S3 be that server."""
    watched, port = server
    made = Store("127.0.0.1", port, f"bucket-{next(_numbers)}")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    assert made._ask("PUT", f"/{made.bucket}")[0] == 200
    watched.store = made
    yield made
    watched.store = None
