"""``--engine``: where the work is done, the same in every command that can be spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from trubleu.engines import Engine


def add_engine_group(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add ``--engine``, and return its group for what else a command has to say about that."""
    where = parser.add_argument_group("where the work is done; no result depends on it")
    where.add_argument(
        "--engine",
        metavar="NAME",
        help="local:N for N processes on this machine, ray or ray://HOST:PORT for a Ray cluster",
    )
    return where


def add_judge_engine_group(parser: argparse.ArgumentParser) -> None:
    """Add ``--engine`` and ``--resume``, as both protocols of judging have them."""
    add_engine_group(parser).add_argument(
        "--resume",
        metavar="FOLDER",
        help="keep finished draws and scores in this folder, and do not make again what is there",
    )


def chosen_engine(options: argparse.Namespace) -> Engine:
    """Return the engine that was asked for, this process if none was; to be used as a context manager."""
    from trubleu.engines import engine

    return engine("local" if options.engine is None else options.engine, threads=getattr(options, "threads", None))
