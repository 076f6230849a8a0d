"""``trubleu rate serve``: the pages of a study for raters and its lead."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

    from trubleu.rating.study import Study

EPILOG = """\
examples:
  trubleu rate serve my-study
  trubleu rate serve my-study --port 8080 --url https://rate.example.org
"""
_REQUESTS = (
    300  # as `trubleu.rating.web.app` has it, said again so that --help need not load it (a test holds them equal)
)
_PROXY = "127.0.0.1,::1"


def add_serve_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to those of ``trubleu rate``."""
    parser = commands.add_parser(
        "serve",
        help="serve the pages for raters and the lead",
        description="Serve the pages of a study for raters and its lead, until Ctrl-C. Raters elsewhere need TLS: put "
        "a web server such as nginx or Caddy in front and name its address with --url.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=serve, files=[])
    parser.add_argument("study", metavar="STUDY", help="the folder of the study")
    parser.add_argument("--host", default="127.0.0.1", metavar="NAME", help="where to listen (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="0 takes a free one (8000)")
    parser.add_argument("--url", metavar="URL", help="how people reach the pages, such as https://rate.example.org")
    parser.add_argument(
        "--proxy",
        default=_PROXY,
        metavar="ADDRESS,…",
        help=f"web servers in front that say who asks, as addresses or networks ({_PROXY}); for use with --url",
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes (1)")
    parser.add_argument(
        "--requests",
        type=float,
        default=_REQUESTS,
        metavar="N",
        help=f"a minute and rater; 0 for no limit ({_REQUESTS})",
    )
    parser.add_argument("--quiet", action="store_true", help="do not print a line for each request")


def serve(options: argparse.Namespace) -> None:
    """Serve the pages until somebody ends it."""
    from trubleu.data.extras import needed
    from trubleu.errors import UsageError

    for package in ("fastapi", "uvicorn", "jinja2", "markdown_it", "python_multipart", "sqlalchemy", "yaml"):
        needed(package, "serving a study", "trubleu[rate]")
    from trubleu.rating.addresses import check_url
    from trubleu.rating.study import Study

    if options.files:
        raise UsageError(f"rate serve takes one study, but {options.files[0]} is given too; start one for each")
    if not 0 <= options.port <= 65535:
        raise UsageError(f"--port {options.port} must lie between 0 and 65535")
    if not 1 <= options.workers <= 64:
        raise UsageError(f"--workers {options.workers} must lie between 1 and 64")
    if not 0 <= options.requests <= 1e9:
        raise UsageError(f"--requests {options.requests:g} must lie between 0 and 1,000,000,000")
    url = None if options.url is None else check_url(options.url)
    _check_proxy(options.proxy, url)
    with Study.open(options.study, sync=True) as study:
        listening = _listen(options.host, options.port)
        with listening:
            here = _here(listening)
            _greet(study, url or here, here)
            _warn(listening, url)
            if url is None and not _is_everywhere(listening):
                url = here
            _run(options, study, listening, url)
    _say("The server has stopped; everything that was answered is saved.")


def _check_proxy(proxy: str, url: str | None) -> None:
    import ipaddress

    from trubleu.errors import UsageError

    if url is None and proxy != _PROXY:
        raise UsageError("--proxy needs --url too: how people reach the web server in front")
    for address in proxy.split(","):
        try:
            ipaddress.ip_network(address.strip())
        except ValueError as error:
            raise UsageError(
                f"--proxy {address} is no address; write one like 10.0.0.5, or a network like 10.0.0.0/24"
            ) from error


def _listen(host: str, port: int) -> socket.socket:
    import socket

    from trubleu.errors import UsageError

    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"--host {host} is not known here: {error}; use 127.0.0.1 or an address of this machine"
        ) from error
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A server that was stopped a moment ago does not keep its port.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. Headers and page are two writes, and the second would wait 40 ms for the first's ACK.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"{host} port {port} cannot be listened at: {(error.strerror or str(error)).lower()}; "
            "choose another with --port, or 0 for a free one"
        ) from error
    listening.set_inheritable(True)
    return listening


def _here(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - where everybody listens nobody is
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_everywhere(listening: socket.socket) -> bool:
    return listening.getsockname()[0] in {"0.0.0.0", "::"}  # noqa: S104


def _greet(study: Study, url: str, here: str) -> None:
    import sys

    title = " ".join(study.config.title.split())
    _say(f"{title}: listening at {here}" + (f" for {url}" if url != here else ""))
    # On a terminal only: what goes to a file or to the journal of a service stays there, and others may read it.
    token = (
        study.lead_token if sys.stdout.isatty() else f"TOKEN, with the token that {study.folder / 'lead.token'} holds"
    )
    _say(f"The lead's page:  {url}/lead/{token}")
    _say(f"Links for raters: on the lead's page, or with trubleu rate links {study.folder} --add 1")
    _say("Ctrl-C ends it.")


def _warn(listening: socket.socket, url: str | None) -> None:
    import ipaddress
    import sys

    local = ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback
    if not local and (url is None or not url.startswith("https://")):
        sys.stderr.write(
            "trubleu: warning: other machines can reach this server, and what they send is not encrypted; "
            "put a web server with TLS in front, listen at 127.0.0.1 and give --url https://…\n"
        )


def _run(options: argparse.Namespace, study: Study, listening: socket.socket, url: str | None) -> None:
    import os

    import uvicorn

    from trubleu.rating.web import app as pages

    logged = _logging(options.quiet)
    common: dict[str, Any] = {
        "log_config": logged,
        "access_log": False,  # it would print links with their tokens
        "server_header": False,
        # Who guesses is slowed down by address, which only the web server in front knows; nobody else is believed.
        "proxy_headers": options.url is not None,
        "forwarded_allow_ips": options.proxy,
        "timeout_graceful_shutdown": 10,
        "ws": "none",
        "lifespan": "off",
    }
    try:
        if options.workers == 1:
            app = pages.create_app(study, url=url, requests_a_minute=options.requests)
            uvicorn.Server(uvicorn.Config(app, **common)).run(sockets=[listening])
            return
        os.environ.update(
            {pages.STUDY: str(study.folder), pages.URL: url or "", pages.REQUESTS: repr(options.requests)}
        )
        uvicorn.run(
            "trubleu.rating.web.app:app_from_environment",
            factory=True,
            workers=options.workers,
            fd=listening.fileno(),
            **common,
        )
    except KeyboardInterrupt:
        # uvicorn has finished what was under way, and passes the signal on.
        return


def _logging(quiet: bool) -> dict[str, Any]:
    """Return where lines go: standard error, with the time."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
        "loggers": {
            "trubleu.rate": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
            "trubleu.rate.access": {"level": "WARNING" if quiet else "INFO"},
            "uvicorn": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        },
    }


def _say(line: str) -> None:
    import sys

    sys.stdout.write(line + "\n")
    sys.stdout.flush()
