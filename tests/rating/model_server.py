"""An endpoint of our own that speaks OpenAI's API, on the loopback interface, and does all that can go wrong."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass
class Reply:
    """What the endpoint does with a request."""

    text: str | None = '{"score_1": 4}'
    model: str = "tiny-1"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """The whole body, in place of a completion."""
    seconds: float = 0.0
    """How long it takes."""
    cut: bool = False
    """Whether the connection ends in the middle of the body."""
    tokens: int | None = 100
    """What usage says, nothing if None."""
    finish: str = "stop"
    likely: Sequence[tuple[str, dict[str, float]]] = ()
    """The tokens of the text, each with the log probabilities of what could stand there."""


def completion(reply: Reply) -> bytes:
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": reply.text},
        "finish_reason": reply.finish,
    }
    if reply.likely:
        choice["logprobs"] = {
            "content": [
                {
                    "token": token,
                    "logprob": max(likely.values(), default=0.0),
                    "bytes": None,
                    "top_logprobs": [{"token": each, "logprob": p, "bytes": None} for each, p in likely.items()],
                }
                for token, likely in reply.likely
            ]
        }
    record = {"id": "1", "object": "chat.completion", "created": 0, "model": reply.model, "choices": [choice]}
    if reply.tokens is not None:
        half = reply.tokens // 2
        record["usage"] = {
            "prompt_tokens": half,
            "completion_tokens": reply.tokens - half,
            "total_tokens": reply.tokens,
        }
    return json.dumps(record).encode()


class ModelServer:
    """Answers with what a function says of the request and its number, counted from 0."""

    def __init__(self, answer: Callable[[dict[str, Any], int], Reply] | None = None) -> None:
        self.answer = answer or (lambda _body, _number: Reply())
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with outer._lock:
                    number = len(outer.bodies)
                    outer.bodies.append(body)
                    outer.keys.append(self.headers.get("authorization", ""))
                    outer._now += 1
                    outer.most_at_once = max(outer.most_at_once, outer._now)
                try:
                    self._reply(outer.answer(body, number))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with outer._lock:
                        outer._now -= 1

            def _reply(self, reply: Reply) -> None:
                time.sleep(reply.seconds)
                data = completion(reply) if reply.body is None else reply.body
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) // 2] if reply.cut else data)
                if reply.cut:
                    self.close_connection = True

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def item(self, number: int) -> dict[str, Any]:
        """What was to be rated in a request."""
        found: dict[str, Any] = json.loads(self.bodies[number]["messages"][1]["content"])
        return found


@contextmanager
def served(answer: Callable[[dict[str, Any], int], Reply] | None = None) -> Iterator[ModelServer]:
    """Run an endpoint, and stop it in the end."""
    server = ModelServer(answer)
    server._thread.start()
    try:
        yield server
    finally:
        server._server.shutdown()
        server._server.server_close()
        server._thread.join()


def item_of(body: dict[str, Any]) -> dict[str, Any]:
    """The item that a request is about."""
    found: dict[str, Any] = json.loads(body["messages"][1]["content"])
    return found


def schema_of(body: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema that a request asks for."""
    found: dict[str, Any] = body["response_format"]["json_schema"]["schema"]
    return found
