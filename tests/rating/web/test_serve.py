"""``trubleu rate serve`` as its users start and stop it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

from trubleu.cli import main, rate_serve
from trubleu.rating.web.app import REQUESTS_A_MINUTE
from trubleu.rating.web.connections import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from trubleu.rating import Study

    Make = Callable[..., Study]

TIMEOUT = 300
EVERYWHERE = "0.0.0.0"  # noqa: S104


@contextmanager
def served(study: Study, *options: str, log: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server at a free port; yield its process and its address."""
    command = [sys.executable, "-m", "trubleu", "rate", "serve", str(study.folder), "--port", "0", *options]
    with log.open("w") as lines, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=lines, text=True) as process:
        watch = threading.Timer(TIMEOUT, process.kill)
        watch.start()
        try:
            assert process.stdout is not None
            found = re.search(r"listening at (http://\S+)", process.stdout.readline())
            assert found, log.read_text()
            yield process, found.group(1)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(TIMEOUT)
            watch.cancel()


def test_serve_and_stop(make: Make, tmp_path: Path) -> None:
    study = make(2)
    token = study.add_raters(1)[0].token
    log = tmp_path / "log"
    with served(study, log=log) as (process, url), httpx.Client() as client:
        page = client.get(f"{url}/r/{token}", follow_redirects=True, timeout=TIMEOUT)
        assert page.status_code == 200
        assert "Instructions" in page.text
        assert client.get(f"{url}/static/rate.css", timeout=TIMEOUT).status_code == 200
        assert client.get(f"{url}/lead/{study.lead_token}", follow_redirects=True, timeout=TIMEOUT).status_code == 200
        assert "server" not in page.headers
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        said = process.stdout.read()
        assert process.wait(TIMEOUT) == 0
    assert said.endswith("The server has stopped; everything that was answered is saved.\n")
    written = log.read_text()
    assert "GET /r/{token} 303" in written
    assert "GET /static 200" in written
    assert "Traceback" not in written
    # Neither in the log nor in what goes to a file.
    assert token not in written + said
    assert study.lead_token not in written + said
    assert "lead.token" in said


def test_on_a_terminal_the_link_is_shown(
    make: Make, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make(1)
    monkeypatch.setattr(rate_serve, "_run", lambda *_: None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["rate", "serve", str(study.folder), "--port", "0", "--url", "https://rate.example.org/"]) == 0
    said = capfd.readouterr()
    assert f"The lead's page:  https://rate.example.org/lead/{study.lead_token}\n" in said.out
    assert "trubleu rate links" in said.out
    assert said.err == ""


def test_a_port_that_is_taken(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    study = make(1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["rate", "serve", str(study.folder), "--port", str(port)]) == 2
    said = capsys.readouterr()
    assert said.err == (
        f"trubleu: 127.0.0.1 port {port} cannot be used: address already in use; choose another --port, or 0\n"
    )


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        (["--host", EVERYWHERE], True),
        (["--host", EVERYWHERE, "--url", "http://example.org"], True),
        (["--host", EVERYWHERE, "--url", "https://example.org"], False),
        (["--host", "localhost"], False),
    ],
)
def test_warnings_where_others_listen(
    options: list[str], warned: bool, make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_serve, "_run", lambda *_: None)
    assert main(["rate", "serve", str(make(1).folder), "--port", "0", *options]) == 0
    assert ("is not encrypted" in capsys.readouterr().err) is warned


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "70000"], "--port 70000 must be between 0 and 65,535"),
        (["--port", "x"], "argument --port: invalid int value: 'x'"),
        (["--requests", "-1"], "--requests -1 must be between 0 and"),
        (["--connections", "0"], "--connections 0 must be between 1 and 1,000,000"),
        (["--per-address", "0"], "--per-address 0 must be between 1 and 1,000,000"),
        (["--requests", "nan"], "--requests nan must be between 0 and"),
        (
            ["--url", "example.org"],
            "--url example.org is not an address of pages; write https://HOST/PATH",
        ),
        (["--url", "https://ann:secret@h/a?key=1"], "--url https://…@h/a… is not an address of pages; write"),
        (["--host", "no.such.host.invalid"], "--host no.such.host.invalid is not known"),
        (
            ["--url", "http://h", "--proxy", "nginx"],
            "--proxy nginx is no address or network; write 10.0.0.5 or",
        ),
        (["--url", "http://h", "--proxy", "*"], "--proxy * is no address or network; write 10.0.0.5 or"),
        (["--proxy", "10.0.0.5"], "--proxy needs --url too: how people reach the web server in front"),
        (["other"], "rate serve does not take other; leave it out"),
    ],
)
def test_options_that_cannot_be_used(
    options: list[str], message: str, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["rate", "serve", str(make(1).folder), *options])
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"trubleu: {message}")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "believed"),
    [
        ([], False),
        (["--url", "http://example.org"], True),
        (["--url", "http://example.org", "--proxy", "10.0.0.0/24"], False),
        (["--url", "http://example.org", "--proxy", "10.0.0.5, 127.0.0.0/8"], True),
    ],
)
def test_guessers_are_told_apart_by_what_the_proxy_says(
    options: list[str], believed: bool, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # which uvicorn would take
    study = make(1)
    token = study.add_raters(1)[0].token
    with served(study, *options, log=tmp_path / "log") as (_, url), httpx.Client(base_url=url, timeout=TIMEOUT) as all_:
        guesser, other = {"x-forwarded-for": "192.0.2.1"}, {"x-forwarded-for": "192.0.2.2"}

        def is_refused_too() -> bool:
            """Guess until it is too often, and come in right away as somebody else with a link that works."""
            while all_.get("/r/guess", headers=guesser).status_code != 429:
                pass
            return all_.get(f"/r/{token}", headers=other).status_code == 429

        # On a busy machine some time may pass in between, after which anybody may try once more.
        assert any(is_refused_too() for _ in range(3 if believed else 20)) is not believed


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="there is no IPv6 here")
def test_every_address_includes_those_of_ipv4() -> None:
    with rate_serve._listen("::", 0) as listening:
        socket.create_connection(("127.0.0.1", listening.getsockname()[1])).close()


def test_pages_do_not_wait_for_an_acknowledgement() -> None:
    with rate_serve._listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_no_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rate", "serve", str(tmp_path)]) == 2
    assert "has no study" in capsys.readouterr().err


def test_the_limits_are_the_same_everywhere() -> None:
    assert rate_serve._REQUESTS == REQUESTS_A_MINUTE
    assert Limits(rate_serve._CONNECTIONS, rate_serve._PER_ADDRESS) == Limits()


def test_the_help_loads_no_web_server() -> None:
    code = (
        "import sys\n"
        "from trubleu.cli import main\n"
        "try: main(['rate', 'serve', '--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('fastapi', 'uvicorn', 'jinja2', 'sqlalchemy') if name in sys.modules])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert found.stdout.endswith("[]\n")
