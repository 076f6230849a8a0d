"""Encoders behind an endpoint: what is sent, to whom, and what is said when it fails."""

from __future__ import annotations

import json
import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from trubleu import References, TruBleuCtx
from trubleu.cli import main
from trubleu.endpoint import Endpoint
from trubleu.errors import DataError, EndpointError, UsageError
from trubleu.vectors import as_encoder
from trubleu.vectors.encoders import encoder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Server(ThreadingHTTPServer):
    """An endpoint whose vectors count letters."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.letters = "aeiou"
        self.status = 200
        self.served = "m-1"
        self.lost = 0
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        self.server.asked += texts
        letters = self.server.letters
        rows = [
            {
                "object": "embedding",
                "index": index,
                "embedding": [text.count(each) + 1.0 for each in letters],
            }
            for index, text in enumerate(texts)
        ]
        found: Any = {"object": "list", "data": rows[self.server.lost :][::-1], "model": self.server.served}
        if self.server.status != 200:
            found = {"error": {"message": "no sk-secret here"}}
        body = json.dumps({**found, "usage": {"prompt_tokens": 1, "total_tokens": 1}}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        encoder._named.cache_clear()
        yield running
        encoder._named.cache_clear()
        running.shutdown()
        thread.join()


def test_characters_and_the_whole_text_count_by_half(server: Server) -> None:
    metric = TruBleuCtx(encoder="openai:m")
    part = metric.parts("A tree.", References.from_lists([["the trees"]])).references[0]
    assert part.score == pytest.approx((part.characters + part.text) / 2)
    assert server.asked.count("a tree .") == 1
    assert len(set(server.asked)) == 202  # with those for the baseline
    signed = metric.signature().to_dict()
    assert (signed["enc"], signed["host"], signed["served"]) == ("openai:m", "127.0.0.1", "m-1")
    assert pickle.loads(pickle.dumps(metric)).segments(["x"], [["x"]])[0] == 100  # noqa: S301 - our own


def test_what_it_says_when_it_fails(server: Server) -> None:
    metric = TruBleuCtx(encoder="openai:m")
    metric.segments(["a"], [["b"]])
    server.letters = "aeiouyxzwvut"
    with pytest.raises(DataError, match=r"^openai:m gives vectors of other dimensions than before \(16, not 8\); "):
        metric.segments(["new"], [["b"]])
    server.letters, server.served = "aeiou", "m-2"
    with pytest.raises(EndpointError, match=r"^127.0.0.1 answers as 'm-2', but answered as 'm-1' before; use one"):
        metric.segments(["newer"], [["b"]])
    server.served, server.lost = "m-1", 1
    with pytest.raises(DataError, match=r"^openai:m gives no vector for each of 1 texts; use another model$"):
        metric.segments(["newest"], [["b"]])
    for status, said in (
        (401, "127.0.0.1 refuses the key; set OPENAI_API_KEY to one that it accepts"),
        (404, "127.0.0.1 has no model 'm', or OPENAI_BASE_URL lacks its end, which is often /v1"),
        (400, "127.0.0.1 answers with status 400 (no … here)"),
    ):
        server.status = status
        with pytest.raises(EndpointError) as caught:
            metric.segments([f"text {status}"], [["b"]])
        assert str(caught.value).startswith(said)
        assert "sk-secret" not in str(caught.value)


def test_nothing_is_sent_without_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.invalid/v1")
    with pytest.raises(
        UsageError, match=r"^texts would be sent to api.invalid; add --send-to api.invalid if they may$"
    ):
        TruBleuCtx(encoder="openai:m").segments(["a"], [["b"]])
    other = r"^--send-to other.invalid is not the host of OPENAI_BASE_URL, api.invalid; nothing was sent$"
    with pytest.raises(UsageError, match=other):
        TruBleuCtx(encoder="openai:m", send_to="other.invalid").segments(["a"], [["b"]])
    allowed = pickle.loads(pickle.dumps(as_encoder("openai:m", send_to="API.invalid")))  # noqa: S301 - our own
    monkeypatch.setattr(Endpoint, "client", _never)
    with pytest.raises(EndpointError, match=r"^it was asked$"):
        allowed.encode([["a"]], 1)


def _never(*_arguments: object) -> None:
    raise EndpointError("it was asked")


@pytest.mark.parametrize(
    ("address", "model", "said"),
    [
        (
            "",
            "n",
            "openai:n needs the address of its endpoint; set OPENAI_BASE_URL, for example to http://localhost:80",
        ),
        ("api.example.org", "n", "OPENAI_BASE_URL 'api.example.org' is not an endpoint; write https://HOST/v1"),
        ("https://a:b@c.org/v1", "n", "OPENAI_BASE_URL 'https://…@c.org/v1' is not an endpoint; write https://HOST/v1"),
        ("https://c.org/v1", "", "encoder='openai:' names no model; write openai:MODEL"),
    ],
)
def test_endpoints_that_are_none(address: str, model: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    encoder._named.cache_clear()
    with pytest.raises(UsageError) as caught:
        as_encoder(f"openai:{model}")
    assert str(caught.value).startswith(said)


def test_a_dry_run_counts_what_would_be_sent(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ref.txt").write_text("the trees\nfour words are here\n")
    (tmp_path / "out.txt").write_text("A tree.\n\n")
    monkeypatch.chdir(tmp_path)
    command = ["score", "--ref", "ref.txt", "out.txt", "-m", "trubleu-ctx", "--encoder", "openai:m"]
    assert main([*command, "--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == ["host        127.0.0.1", "texts       203, with those for the baseline", "requests    2"]
    assert said[3].startswith("tokens      about ")
    assert server.asked == []
    assert main([*command, "--quiet"]) == 0
    assert len(set(server.asked)) == 203
    assert main(["score", "--ref", "ref.txt", "out.txt", "-m", "chrf", "--dry-run"]) == 0
    assert capsys.readouterr().out.endswith("no metric sends texts to an endpoint\n")
