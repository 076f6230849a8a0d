"""Words to stems, by Snowball's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.data.extras import needed
from trubleu.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable


class Stemmer:
    """A Snowball stemmer that remembers what it was asked; two of one name are equal.

    Parameters
    ----------
    name
        Such as ``porter`` or ``german``.
    purpose
        What needs it, for the message if it is not installed.

    Examples
    --------
    >>> Stemmer("porter", "an example")("sleeping")
    'sleep'
    """

    def __init__(self, name: str, purpose: str) -> None:
        self.name, self.purpose = name, purpose
        package = needed("snowballstemmer", purpose, "trubleu[meteor]")
        languages = package.algorithms()
        if name not in languages:
            raise UsageError(f"stemmer={name} is not known; {nearest(str(name), [*languages, 'none'])}")
        # Not package.stemmer, which would take another package's stemmers, of another version, if that is installed.
        module = needed(f"snowballstemmer.{name}_stemmer", f"stemmer={name}", "trubleu[meteor]")
        self._stem_word: Callable[[str], str] = getattr(module, f"{name.title().replace('_', '')}Stemmer")().stemWord
        self._known: dict[str, str] = {}

    def __call__(self, word: str) -> str:
        """Return the stem of a word."""
        stem = self._known.get(word)
        if stem is None:
            stem = self._known[word] = self._stem_word(word)
        return stem

    def signature(self) -> str:
        """Return what stands for it in a signature: package, version and name."""
        from importlib.metadata import version

        return f"snowball-{version('snowballstemmer')}-{self.name}"

    # What is counted with a stemmer is kept with references, and other metrics may use it.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stemmer) and self.name == other.name

    def __hash__(self) -> int:
        return hash((Stemmer, self.name))

    def __reduce__(self) -> tuple[type[Stemmer], tuple[str, str]]:
        return Stemmer, (self.name, self.purpose)
