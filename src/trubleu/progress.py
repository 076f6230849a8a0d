"""Progress bars for work that takes longer than two seconds, and warnings printed once each."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from trubleu.errors import Notice, TrubleuWarning

if TYPE_CHECKING:
    from collections.abc import Iterator


Progress = Callable[[int], object]
"""Reports finished steps: how many more are done."""

Steps = Callable[[str, int], Progress]
"""Starts a stage with a name and a number of steps, and returns the callback that reports finished steps."""

DELAY_SECONDS = 2.0


class Bars:
    """Progress bars on standard error, one at a time; none if it is not a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._close()

    def stage(self, name: str, total: int | None, unit: str = "it") -> Progress:
        """Start a stage with an optional number of steps, and return the callback that reports finished steps."""
        self._close()
        if self._quiet or not sys.stderr.isatty():
            return lambda _done: None
        from tqdm import tqdm

        self._bar = tqdm(
            total=total, desc=name, unit=unit, unit_scale=True, delay=DELAY_SECONDS, leave=False, file=sys.stderr
        )
        update: Progress = self._bar.update
        return update

    def note(self, text: str) -> None:
        """Show a note beside the bar."""
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


@contextmanager
def told_once(*, quiet: bool) -> Iterator[None]:
    """Print each TruBLEU warning once, without its place in the code; leave other warnings alone."""
    told: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", TrubleuWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if not issubclass(category, TrubleuWarning):
                usual(message, category, *place)
            elif not quiet and str(message) not in told:
                told.add(str(message))
                kind = "" if issubclass(category, Notice) else "warning: "
                sys.stderr.write(f"trubleu: {kind}{message}\n")

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def no_steps(_name: str, _total: int) -> Progress:
    """Show no progress."""
    return lambda _done: None
