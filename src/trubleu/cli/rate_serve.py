"""``trubleu rate serve`` and ``rate simulate``: serve the pages of a study, and answer it with simulated raters."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trubleu.cli import arguments as add
from trubleu.cli.options import check_range, picked, say
from trubleu.cli.rate_study import opened, study_command
from trubleu.errors import UsageError, counted
from trubleu.optional_deps import needed
from trubleu.progress import Bars

if TYPE_CHECKING:
    import argparse
    import socket

    from trubleu.rating import Study
    from trubleu.rating.simulated_raters import Simulation
    from trubleu.rating.web.connections import Limits


_REQUESTS = 300  # as in `trubleu.rating.web.app`, repeated so --help need not import it (a test keeps them equal)
_CONNECTIONS, _PER_ADDRESS = 1000, 300  # as in `trubleu.rating.web.connections`
_PROXY = "127.0.0.1,::1"


def add_serve_parser(commands: add.Commands) -> None:
    """Add ``rate serve``."""
    parser = study_command(commands, "serve", serve)
    add.option(parser, "--host", "NAME", "address to listen on", "127.0.0.1")
    add.option(parser, "--port", "N", "port to listen on; 0 for any free one", 8000)
    add.option(parser, "--url", "URL", "public address of the pages, such as https://rate.example.org")
    about = "trusted web servers in front, as addresses or networks; with --url"
    add.option(parser, "--proxy", "ADDRESS,…", about, _PROXY)
    add.option(
        parser, "--requests", "N", "maximum requests per minute and rater; 0 for no limit", _REQUESTS, type=float
    )
    add.option(parser, "--connections", "N", "maximum connections per process", _CONNECTIONS)
    add.option(
        parser, "--per-address", "N", "maximum connections per address, except from web servers in front", _PER_ADDRESS
    )
    add.flag(parser, "--openapi", "serve a description of the API at /openapi.json")
    add.quiet(parser, "do not log requests")


def serve(options: argparse.Namespace) -> None:
    """Serve the pages for raters and the lead.

    Serve the pages for raters and the lead, until Ctrl-C. For raters on the internet, put a web server with TLS such as
    nginx or Caddy in front, and give its address with --url.

    Examples
    --------
    trubleu rate serve my-study
    trubleu rate serve my-study --port 8080 --url https://rate.example.org
    """
    for package in ("fastapi", "uvicorn", "jinja2", "markdown_it", "python_multipart", "sqlalchemy", "yaml"):
        needed(package, "serving a study", "trubleu[rate]")
    from trubleu.rating.config import check_url
    from trubleu.rating.study import Study

    check_range(options, "port", 0, 65_535)
    check_range(options, "requests", 0, 1_000_000_000)
    check_range(options, "connections", 1, 1_000_000)
    check_range(options, "per_address", 1, 1_000_000)
    url = None if options.url is None else check_url(options.url)
    _check_proxy(options.proxy, url)
    with Study.open(options.study, sync=True) as study:
        _check_crowd(study)
        listening = _listen(options.host, options.port)
        with listening:
            here = _here(listening)
            _greet(study, url or here, here)
            _warn(listening, url)
            if url is None and not _is_everywhere(listening):
                url = here
            if options.url is not None or options.port:  # a random port would change the next time
                study.store.put("url", url or "")  # for links created by other commands
            _run(options, study, listening, url)
    say("The server has stopped; everything that was answered is saved.")


def _check_crowd(study: Study) -> None:
    """Raise an error for a new study that accepts any made-up id; warn if raters have already joined."""
    from trubleu.rating.config import check_verified, crowd_warnings

    if not any(rater.entry == "prolific" for rater in study.raters()):
        check_verified(study.config, str(study.folder / "study.yaml"))
    for warning in crowd_warnings(study.config):
        sys.stderr.write(f"trubleu: warning: {warning}\n")


def _check_proxy(proxy: str, url: str | None) -> None:
    import ipaddress

    if url is None and proxy != _PROXY:
        raise UsageError("--proxy needs --url too: how people reach the web server in front")
    for address in proxy.split(","):
        try:
            ipaddress.ip_network(address.strip())
        except ValueError as error:
            raise UsageError(
                f"--proxy {address} is not an address; write one like 10.0.0.5, or a network like 10.0.0.0/24"
            ) from error


def _listen(host: str, port: int) -> socket.socket:
    import socket

    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"--host {host} is not known here: {error}; use 127.0.0.1 or an address of this machine"
        ) from error
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        # Allows reusing the port of a server that has just stopped.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Inherited by connections. Headers and page are two writes, and the second would wait 40 ms for the first's
        # ACK.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        listening.close()
        raise UsageError(
            f"{host} port {port} cannot be listened at: {(error.strerror or str(error)).lower()}; "
            "choose another with --port, or 0 for a free one"
        ) from error
    return listening


def _here(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - where everybody listens nobody is
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_everywhere(listening: socket.socket) -> bool:
    return listening.getsockname()[0] in {"0.0.0.0", "::"}  # noqa: S104


def _greet(study: Study, url: str, here: str) -> None:
    title = " ".join(study.config.title.split())
    say(f"{title}: listening at {here}" + (f" for {url}" if url != here else ""))
    # On a terminal only: a log file or service journal would keep the token, and others may read it.
    token = (
        study.lead_token if sys.stdout.isatty() else f"TOKEN, with the token that {study.folder / 'lead.token'} holds"
    )
    say(f"The lead's page:  {url}/lead/{token}")
    say(f"Links for raters: on the lead's page, or with trubleu rate links {study.folder} --add 1")
    say("Ctrl-C ends it.")


def _warn(listening: socket.socket, url: str | None) -> None:
    import ipaddress

    local = ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback
    if not local and (url is None or not url.startswith("https://")):
        sys.stderr.write(
            "trubleu: warning: other machines can reach this server, and what they send is not encrypted; "
            "put a web server with TLS in front, listen at 127.0.0.1 and give --url https://…\n"
        )


def _run(options: argparse.Namespace, study: Study, listening: socket.socket, url: str | None) -> None:
    import uvicorn

    from trubleu.rating.web.app import create_app
    from trubleu.rating.web.connections import BACKLOG, LimitedProtocol

    LimitedProtocol.limits = _limits(options)
    config = uvicorn.Config(
        create_app(study, url=url, requests_a_minute=options.requests, openapi=options.openapi),
        http=LimitedProtocol,
        backlog=BACKLOG,
        log_config=_logging(options.quiet),
        access_log=False,  # it would print links with their tokens
        server_header=False,
        # Guessing is throttled by address, which only a reverse proxy knows; its headers are trusted only if there is
        # one.
        proxy_headers=options.url is not None,
        forwarded_allow_ips=options.proxy,
        timeout_graceful_shutdown=10,
        ws="none",
        lifespan="off",
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        # uvicorn has finished the requests in progress, and passes the signal on.
        return


def _limits(options: argparse.Namespace) -> Limits:
    """Return the limits on connections, within the process's limit on open files."""
    from trubleu.rating.web.connections import Limits, raise_file_limit

    connections = raise_file_limit(options.connections)
    if connections < options.connections:
        sys.stderr.write(
            f"trubleu: warning: {connections:,} connections instead of {options.connections:,}, as the system lets "
            "this process open too few files; raise its hard limit (ulimit -Hn, LimitNOFILE= of systemd)\n"
        )
    proxies = tuple(options.proxy.replace(" ", "").split(",")) if options.url is not None else ()
    return Limits(connections, options.per_address, proxies=proxies)


def _logging(quiet: bool) -> dict[str, Any]:
    """Return the logging settings: standard error, with timestamps; repeated lines limited to a few per minute."""
    from trubleu.rating.web.connections import SparingLog

    stream = {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
        "filters": {"sparing": {"()": SparingLog}},
        "handlers": {"stderr": stream, "sparing": stream | {"filters": ["sparing"]}},
        "loggers": {
            "trubleu.rate": {"handlers": ["sparing"], "level": "INFO", "propagate": False},
            "trubleu.rate.access": {
                "handlers": ["stderr"],
                "level": "WARNING" if quiet else "INFO",
                "propagate": False,
            },
            "uvicorn": {"handlers": ["sparing"], "level": "WARNING", "propagate": False},
            "asyncio": {"handlers": ["sparing"], "level": "WARNING", "propagate": False},
        },
    }


def add_simulate_parser(commands: add.Commands) -> None:
    """Add ``rate simulate``."""
    parser = study_command(commands, "simulate", simulate)
    add.option(parser, "--raters", "N", "number of raters", type=int, required=True)
    about = "raters know the true quality of every text in this world (see trubleu simulate world)"
    add.option(parser, "--world", "FOLDER", about)
    add.option(parser, "--noise", "S", "standard deviation of a rater's noise", 0.8)
    add.option(parser, "--bias", "S", "standard deviation of raters' leniency", 0.3)
    add.option(parser, "--lazy", "SHARE", "share of raters who do not read", 0.0)
    about = "share of raters who send twice, lose the connection, undo answers or cannot judge"
    add.option(parser, "--clumsy", "SHARE", about, 0.0)
    add.option(parser, "--slow", "SHARE", "share of raters who answer late", 0.0)
    add.option(parser, "--leaving", "SHARE", "share of raters who take a task and never come back", 0.0)
    add.option(parser, "--seconds", "S", "mean seconds per task", 0.0)
    add.option(parser, "--at-once", "N", "number of raters who rate at the same time", 8)
    about = "random seed; with the same seed, raters give an item the same scores"
    add.option(parser, "--seed", "N", about, 1)
    about = "use this running server; repeat for more"
    add.several(parser, "--url", "URL", about, default=[])
    about = "even if real people have rated (answers would mix), or the study is in PostgreSQL"
    add.flag(parser, "--anyway", about)
    add.quiet(parser, "no output and no progress bar")


def simulate(options: argparse.Namespace) -> None:
    """Rehearse a study with simulated raters.

    Rehearse a study, in which no real person has rated, with simulated raters who answer over HTTP as people do.
    Without --url, a server is started for them.

    Examples
    --------
    trubleu rate simulate rehearsal --raters 40 --noise 0.8
    trubleu rate simulate rehearsal --raters 40 --lazy 0.1 --clumsy 0.2 --slow 0.1
    trubleu rate simulate world/study --raters 40 --world world
    trubleu rate simulate rehearsal --raters 5 --seconds 3 --url http://127.0.0.1:8000
    """
    _check_store(options)
    with opened(options.study, sync=True) as study:
        for package in ("httpx", "fastapi", "uvicorn", "jinja2", "markdown_it", "python_multipart"):
            needed(package, "simulating raters", "trubleu[rate]")
        _check(options, study)
        done = _simulated(options, study)
    if not options.quiet:
        say(*_told(done, options.study))


def _check_store(options: argparse.Namespace) -> None:
    """Raise an error for a folder that may be a copy: it refers to the database of the real study."""
    if (Path(options.study) / "store.url").exists() and not options.anyway:
        raise UsageError(
            f"{options.study} keeps its answers in the database that its store.url names, and so does every copy "
            "of the folder; rehearse with a study of its own (trubleu rate new rehearsal --from FILE --config "
            f"{options.study}/study.yaml), or add --anyway"
        )


def _check(options: argparse.Namespace, study: Study) -> None:
    from trubleu.rating.config import check_url
    from trubleu.rating.simulated_raters import LABEL

    for url in options.url:
        check_url(url)
    people = [rater for rater in study.raters() if not rater.is_model]
    real = sum(rater.answered for rater in people if not (rater.label or "").startswith(LABEL + " "))
    if real and not options.anyway:
        raise UsageError(
            f"{study.folder} has {counted(real, 'answer')} of real raters, which simulated ones would be mixed with; "
            "rehearse with a study of its own, or add --anyway"
        )
    if study.paused:
        raise UsageError(f"{study.folder} is paused; trubleu rate resume continues it")


def _simulated(options: argparse.Namespace, study: Study) -> Simulation:
    from trubleu.rating.simulated_raters import ServerProcess, simulate
    from trubleu.simulate import read_world
    from trubleu.simulate.raters import Habits

    habits = Habits(**picked(options, "noise bias lazy clumsy slow leaving"))
    quality = None if options.world is None else read_world(options.world).quality
    missing = sum(max(0, item.wanted - item.counted) for item in study.items() if item.role == "item")
    with ExitStack() as stack:
        urls = options.url
        if not urls:
            urls = [stack.enter_context(ServerProcess(study.folder, options=["--quiet"])).url]
        bars = stack.enter_context(Bars(quiet=options.quiet))
        return simulate(
            study,
            options.raters,
            urls=urls,
            habits=habits,
            **picked(options, "at_once seed seconds"),
            quality=quality,
            progress=bars.stage("rating", missing, "answer"),
        )


def _told(done: Simulation, study: str) -> list[str]:
    who = f"{counted(len(done.answers), 'answer')} of {counted(len(done.raters), 'simulated rater')}"
    lines = [
        f"{study}: {who} in {done.seconds:,.1f} seconds",
        f"missing: {counted(done.missing, 'rating')}" if done.missing else "every item has its ratings",
    ]
    if done.events:
        lines.append("on the way: " + ", ".join(f"{number:,} {what}" for what, number in done.events.items()))
    if done.missing:
        lines.append("items lack ratings where there are too few raters, or where those who left still hold tasks")
    return [*lines, f"then: trubleu rate status {study}"]
