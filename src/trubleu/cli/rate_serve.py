"""``trubleu rate serve``: serve the pages of a study."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from trubleu.cli import arguments as add
from trubleu.cli.options import check_range, say
from trubleu.cli.rate_study import study_command
from trubleu.errors import UsageError
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    import argparse
    import socket

    from trubleu.rating import Study
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
    add.flag(parser, "--openapi", "serve the OpenAPI description at /openapi.json")
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
    from trubleu.rating.config import check_url, crowd_warnings
    from trubleu.rating.study import Study

    check_range(options, "port", 0, 65_535)
    check_range(options, "requests", 0, 1_000_000_000)
    check_range(options, "connections", 1, 1_000_000)
    check_range(options, "per_address", 1, 1_000_000)
    url = None if options.url is None else check_url(options.url)
    _check_proxy(options.proxy, url)
    with Study.open(options.study, sync=True) as study:
        for warning in crowd_warnings(study.config):
            sys.stderr.write(f"trubleu: warning: {warning}\n")
        with _listen(options.host, options.port) as listening:
            here = _here(listening)
            _greet(study, url or here, here)
            _warn(listening, url)
            if url is None and not _is_everywhere(listening):
                url = here
            if options.url is not None or options.port:  # a random port would change the next time
                study.store.put("url", url or "")  # for links created by other commands
            _run(options, study, listening, url)
    say("The server has stopped; everything that was answered is saved.")


def _check_proxy(proxy: str, url: str | None) -> None:
    import ipaddress

    if url is None and proxy != _PROXY:
        raise UsageError("--proxy needs --url too: how people reach the web server in front")
    for address in proxy.split(","):
        try:
            ipaddress.ip_network(address.strip())
        except ValueError as error:
            raise UsageError(f"--proxy {address} is no address or network; write 10.0.0.5 or 10.0.0.0/24") from error


def _listen(host: str, port: int) -> socket.socket:
    import socket

    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--host {host} is not known: {error}; use 127.0.0.1 or an address of this machine") from error
    try:
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()  # :: is every address, of IPv4 too
        listening = socket.create_server(address, family=family, dualstack_ipv6=both)
    except OSError as error:
        cause = os.strerror(error.errno or 0).lower()
        raise UsageError(f"{host} port {port} cannot be used: {cause}; choose another --port, or 0") from error
    # Inherited by connections. Headers and page are two writes, and the second would wait 40 ms for the first's ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _here(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - where everybody listens nobody is
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_everywhere(listening: socket.socket) -> bool:
    return listening.getsockname()[0] in {"0.0.0.0", "::"}  # noqa: S104


def _greet(study: Study, url: str, here: str) -> None:
    title = " ".join(study.config.title.split())
    hidden = f"TOKEN, with the token that {study.folder / 'lead.token'} holds"
    say(
        f"{title}: listening at {here}" + (f" for {url}" if url != here else ""),
        # On a terminal only: a log file or service journal would keep the token, and others may read it.
        f"The lead's page:  {url}/lead/{study.lead_token if sys.stdout.isatty() else hidden}",
        f"Links for raters: on the lead's page, or with trubleu rate links {study.folder} --add 1",
        "Ctrl-C ends it.",
    )


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
    _set_up_logs(options.quiet)
    config = uvicorn.Config(
        create_app(study, url=url, requests_a_minute=options.requests, openapi=options.openapi),
        http=LimitedProtocol,
        backlog=BACKLOG,
        log_config=None,
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


def _set_up_logs(quiet: bool) -> None:
    """Log to standard error, with timestamps; repeated lines are limited to a few per minute."""
    import logging

    from trubleu.rating.web.connections import SparingLog

    sparing = SparingLog()
    levels = {"trubleu.rate": "INFO", "trubleu.rate.access": "INFO", "uvicorn": "WARNING", "asyncio": "WARNING"}
    for name, level in levels.items():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
        if name == "trubleu.rate.access":
            logger.disabled = quiet
        else:
            handler.addFilter(sparing)
