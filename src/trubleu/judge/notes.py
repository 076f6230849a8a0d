"""What a reader of a report must know."""

from __future__ import annotations

import warnings

from trubleu.errors import CountedWarning, TrubleuWarning


class Notes:
    """Sentences for a report, each once; some are also said at once, as warnings."""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}

    def add(self, sentence: str) -> None:
        """Keep a sentence without a warning."""
        self._sentences.setdefault(sentence)

    def warn(self, sentence: str) -> None:
        """Keep a sentence, and warn of it."""
        if sentence not in self._sentences:
            self._sentences[sentence] = None
            warnings.warn(TrubleuWarning(sentence), stacklevel=3)

    def count(self, what: str, number: int) -> None:
        """Keep a number of cases, and warn of them."""
        warning = CountedWarning(what, number)
        self._sentences.setdefault(str(warning))
        warnings.warn(warning, stacklevel=3)

    def all(self) -> tuple[str, ...]:
        """Return the sentences in their order."""
        return tuple(self._sentences)
