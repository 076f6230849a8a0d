"""Snowball stems, and synonyms from WordNet files."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import zipfile
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import DataError, MissingExtraError, UsageError, nearest
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Stemmer:
    """A Snowball stemmer; stemmers of the same name are equal, and share what is counted with them.

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

    name: str
    purpose: str = field(compare=False)

    def __post_init__(self) -> None:
        _snowball(str(self.name), self.purpose)

    def __call__(self, word: str) -> str:
        """Return the stem of a word; a word with a lone surrogate, which UTF-8 cannot encode, is its own stem."""
        try:
            stem: str = _snowball(self.name, self.purpose).stemWord(word)
        except UnicodeEncodeError:
            return word
        return stem or word

    def stems(self, words: list[str]) -> list[str]:
        """Return the stems of several words."""
        try:
            stems: list[str] = _snowball(self.name, self.purpose).stemWords(words)
        except UnicodeEncodeError:
            return [*map(self, words)]
        return stems if all(stems) else [*map(self, words)]

    def signature(self) -> str:
        """Return its name in signatures: package, version and language."""
        from importlib.metadata import version

        return f"snowball-{version('PyStemmer')}-{self.name}"


@cache
def _snowball(name: str, purpose: str) -> Any:
    package = needed("Stemmer", purpose, "trubleu[meteor]", "PyStemmer")
    languages = package.algorithms()
    if name not in languages:
        raise UsageError(f"stemmer={name} is not known; {nearest(str(name), [*languages, 'none'])}")
    return package.Stemmer(name, 0)  # its word cache costs more than stemming


PARTS: Final = ("noun", "verb", "adj", "adv")

# Suffixes of inflected forms and of their base forms, from WordNet's manual (morphy).
_ENDINGS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "noun": (
        *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man")),
        ("ies", "y"),
    ),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


class WordNet:
    """The words of a WordNet and their synsets.

    Parameters
    ----------
    folder
        A folder, or a zip file as NLTK downloads it, with ``index.noun``, ``index.verb``, ``index.adj`` and
        ``index.adv``; lists of irregular forms (``noun.exc``, …) are used if they are there.

    Attributes
    ----------
    name
        What stands for it in a signature: its version if its files tell, and a checksum of what was read.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._synsets: dict[str, dict[str, tuple[str, ...]]] = {}
        self._irregular: dict[str, dict[str, list[str]]] = {}
        self._found: dict[str, frozenset[str]] = {}
        checksum = hashlib.sha256()
        release = ""
        root = _opened(Path(folder))
        for part in PARTS:
            text = _text(root / f"index.{part}")
            checksum.update(text.encode())
            if told := re.search(r"WordNet (\d+(?:\.\d+)*) Copyright", text[:4000]):
                release = f"{told[1]}-"
            self._synsets[part] = dict(_index(text, part, f"{folder}/index.{part}"))
            exceptions = root / f"{part}.exc"
            text = _text(exceptions) if exceptions.is_file() else ""
            checksum.update(text.encode())
            forms = self._irregular[part] = defaultdict(list)
            for line in text.splitlines():
                form, *bases = line.split() or [""]
                forms[form] += bases
        self.name = f"wordnet-{release}{checksum.hexdigest()[:8]}"

    def synsets(self, word: str) -> frozenset[str]:
        """Return the synsets of a word, in any inflected form and any part of speech.

        Parameters
        ----------
        word
            A word in lower case.
        """
        if word not in self._found:
            self._found[word] = frozenset(
                synset
                for part, words in self._synsets.items()
                for base in self._bases(word, part)
                for synset in words.get(base, ())
            )
        return self._found[word]

    def _bases(self, word: str, part: str) -> Iterator[str]:
        yield word
        if word in self._irregular[part]:
            yield from self._irregular[part][word]
            return
        for ending, base in _ENDINGS[part]:
            if word.endswith(ending):
                yield word[: -len(ending)] + base


_SHARED: Final = ("/usr/share/nltk_data", "/usr/local/share/nltk_data", "/usr/local/lib/nltk_data")


def installed() -> WordNet:
    """Read the WordNet in ``WNSEARCHDIR``, in Debian's package wordnet-base, or in NLTK's data.

    Raises
    ------
    DataError
        If ``WNSEARCHDIR`` names none.
    MissingExtraError
        If there is none; the message says how to install one.
    """
    if named := os.environ.get("WNSEARCHDIR"):
        if not Path(named).exists():
            raise DataError(f"WNSEARCHDIR names {named}, and there is no such folder; correct it, or leave it out")
        return WordNet(named)
    for place in _places():
        if place.is_file() or (place / f"index.{PARTS[0]}").is_file():  # skip empty folders
            return WordNet(place)
    raise MissingExtraError(
        "synonyms=wordnet needs a WordNet and none is installed; install one with: apt-get install wordnet-base, or "
        "python -m nltk.downloader wordnet, or give a folder with its index files: synonyms=FOLDER"
    )


def _places() -> Iterator[Path]:
    yield Path("/usr/share/wordnet")
    named = [root for root in os.environ.get("NLTK_DATA", "").split(os.pathsep) if root]
    usual = (f"{sys.prefix}/nltk_data", f"{sys.prefix}/share/nltk_data", *_SHARED)
    for root in (*named, f"{Path.home()}/nltk_data", *usual):
        yield Path(root, "corpora", "wordnet")
        yield Path(root, "corpora", "wordnet.zip")


def _opened(folder: Path) -> Path | zipfile.Path:
    if folder.is_dir():
        return folder
    if not folder.exists():
        raise DataError(f"there is no folder {folder} for the WordNet; give one with index.noun in it")
    try:
        inside = zipfile.Path(folder)
    except zipfile.BadZipFile:
        raise DataError(f"{folder} is neither a folder nor a zip file; give a WordNet's folder") from None
    nested = inside / "wordnet"
    return nested if nested.is_dir() else inside


def _text(path: Path | zipfile.Path) -> str:
    if not path.is_file():
        raise DataError(f"{path} is missing, so its folder is not a WordNet; give one with index.noun in it")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; give a WordNet's folder") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as error:  # RuntimeError: a password
        raise DataError(f"{path} cannot be read: {error}; fetch the WordNet again, or give another one") from error


def _index(text: str, part: str, source: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield words and their synsets: a line has word, part, number of synsets, pointers, …, and last the synsets."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(" ") or not line:  # the licence
            continue
        fields = line.split()
        if len(fields) < 3 or not fields[2].isdecimal() or not 0 < int(fields[2]) <= len(fields) - 3:
            raise DataError(
                f"{source}:{number} is not a line of a WordNet index: word, part, number of synsets, …, synsets"
            )
        if "_" not in fields[0]:  # multi-word entries never equal a single word
            yield fields[0], tuple(part + synset for synset in fields[-int(fields[2]) :])
