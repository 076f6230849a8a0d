"""The options that every command with a table shares: ``--format``, ``--digits``, ``--out`` and ``--quiet``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

FORMATS: Final = ("text", "json", "csv", "markdown", "latex")
"""Those of `trubleu.report.tables`, said again so that ``--help`` need not load it (a test holds them equal)."""

MOST_DIGITS: Final = 17

READ: Final = (
    "refs", "source", "ref", "weight", "files", "ratings", "scores", "human", "rankings", "assessments", "tasks",
    "among", "seeds", "corpus",
)  # fmt: skip
"""The options that name files to be read, besides those of outputs."""


def add_output_options(
    parser: argparse.ArgumentParser, *, formats: Sequence[str] = FORMATS, digits: int = 2
) -> argparse._ArgumentGroup:
    """Add the options, and return their group for those that only this command has.

    Call `check_output` before the work begins and `write_output` when it is done.

    Parameters
    ----------
    parser
        The command's parser.
    formats
        What ``--format`` takes; the first is the default.
    digits
        The default of ``--digits``.
    """
    group = parser.add_argument_group("output")
    listed = f"{', '.join(formats[1:-1])} or {formats[-1]}"
    group.add_argument(
        "--format", choices=formats, default=formats[0], metavar="NAME", help=f"{formats[0]} (default), {listed}"
    )
    group.add_argument(
        "--digits",
        type=int,
        default=digits,
        metavar="N",
        help=f"decimals where people read ({digits}); csv and json have all",
    )
    group.add_argument("--out", metavar="FILE", default="-", help="write there instead of standard output")
    group.add_argument("--quiet", action="store_true", help="no progress bars and no warnings")
    return group


def check_output(options: argparse.Namespace) -> None:
    """Refuse what could not be printed or written, before any work is done."""
    from trubleu.data import check_writable
    from trubleu.errors import UsageError

    if not 0 <= options.digits <= MOST_DIGITS:
        raise UsageError(f"--digits {options.digits} must lie between 0 and {MOST_DIGITS}")
    check_writable(options.out)
    keep_inputs(options, options.out)


def keep_inputs(options: argparse.Namespace, target: str) -> None:
    """Refuse to write over a file that the command reads."""
    from trubleu.data import parse_system
    from trubleu.data.places import same_file
    from trubleu.errors import UsageError

    # In some commands one of the names is a number instead.
    given = [value for name in READ if isinstance(value := getattr(options, name, None), str | list)]
    paths = [path for value in given for path in ([value] if isinstance(value, str) else value)]
    paths += [parse_system(system)[1] for system in getattr(options, "systems", [])]
    for path in paths:
        if path != "-" and same_file(path, target):
            raise UsageError(f"{target} is read by this command and would be lost; write to another file")


def write_output(options: argparse.Namespace, text: str) -> None:
    """Write to where ``--out`` says, whole or not at all."""
    from trubleu.data import atomic_writer

    # Half of a surrogate pair, which JSON can hold and UTF-8 cannot, becomes \ud83d: in JSON that is itself again.
    encodable = text.encode("utf-8", "backslashreplace").decode("utf-8")
    with atomic_writer(options.out) as file:
        file.write(encodable)
