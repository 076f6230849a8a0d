"""Tokenizers by name, or any callable; tokens reach the kernels joined by spaces, with inner spaces escaped.

The kernel gets a text as one line and splits it on white space. A callable may return tokens that would not survive
this: ``"New York"`` would become two tokens, and an empty token none. Such tokens are escaped, and so are those that
contain the escape character itself, so different tokens stay different. All others stay unchanged.

An escape is ``MARK``, the character's code point in hexadecimal, and ``;``. An empty token is ``MARK`` and ``;``, which
is unambiguous because every code point has at least one digit.
"""

from __future__ import annotations

import functools
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from trubleu.errors import UsageError, nearest
from trubleu.text import sacrebleu

MARK = "\U0010fffd"
"""The last private-use code point: no standard gives it a meaning, and symbol fonts start lower."""

_UNSAFE = re.compile(rf"[\s{MARK}]")


def escape_token(token: str) -> str:
    """Escape white space in a token, so it stays one token and differs from every other.

    Parameters
    ----------
    token
        Any string, also an empty one.

    Returns
    -------
    str
        A string that is not empty and has no white space; the token itself where it already is like this.

    Examples
    --------
    >>> escape_token("York")
    'York'
    >>> escape_token("New York") == f"New{MARK}20;York"
    True
    >>> escape_token("") == f"{MARK};"
    True
    """
    if not token:
        return f"{MARK};"
    return _UNSAFE.sub(lambda match: f"{MARK}{ord(match[0]):x};", token)


def join_tokens(tokens: Sequence[str]) -> str:
    """Join tokens by single spaces, escaping where needed, so splitting on white space restores their number.

    Parameters
    ----------
    tokens
        Any strings.

    Returns
    -------
    str
        One line; ``line.split()`` is ``[escape_token(token) for token in tokens]``.

    Raises
    ------
    TypeError
        If a token is not a string.

    Examples
    --------
    >>> join_tokens(["New", "York"])
    'New York'
    >>> len(join_tokens(["New York", "", "!"]).split())
    3
    """
    line = " ".join(tokens)
    # Nearly all lines need no escapes, and one split in C is much faster than checking each token.
    if MARK not in line and line.split() == list(tokens):
        return line
    return " ".join(map(escape_token, tokens))


Spec = str | Callable[[str], str | Sequence[str]]
"""A tokenizer as callers pass it: a name, or a function from a text to a tokenized line or to tokens."""

# Tokenized by the kernel; sacreBLEU, which is slow to import, is only needed to display tokens.
_NATIVE = ("13a", "none")

# Modules of TruBLEU's own tokenizers: ``split`` turns a text into tokens, ``SIGNATURE`` is the name in signatures and
# changes with the tokens; the optional ``line`` returns them joined by spaces.
OWN = {"chat": "trubleu.text.chat", "words": "trubleu.text.words"}


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A tokenizer, created by `tokenizer`.

    Two tokenizers are equal if they were created from the same name or callable. A tokenizer can be pickled if that
    can; unpickling creates it again.

    Attributes
    ----------
    name
        What stands for it in a signature.
    native
        The name under which the kernel tokenizes by itself; ``None`` if it takes the result of `lines`.
    model
        A hash of its model, which the name does not identify; empty if it has none.

    Examples
    --------
    >>> tokenizer("13a")
    Tokenizer(name='13a', native='13a')
    """

    name: str
    native: str | None
    _spec: Spec = field(repr=False, hash=False)  # a callable need not have a hash
    _split: Callable[[str], list[str]] = field(repr=False, compare=False)
    # Tokens of a callable may contain anything; all others are free of white space and never empty.
    _escape: bool = field(repr=False, compare=False)
    model: str = field(default="", repr=False, compare=False)
    # A faster way to tokens joined by spaces, if there is one.
    _lines: Callable[[Sequence[str], bool], list[str]] | None = field(default=None, repr=False, compare=False)

    def lines(self, texts: Sequence[str], lowercase: bool = False) -> list[str]:
        """Tokenize texts for the kernel: one line each, tokens separated by single spaces.

        Parameters
        ----------
        texts
            The texts.
        lowercase
            Lower-case each text before it is tokenized.

        Returns
        -------
        list of str
            As many lines. ``line.split()`` is the text's tokens; a callable's token that is empty or has white space
            in it is escaped, so that it is still one token and equal to no other (see `trubleu.text.tokenizers`).

        Raises
        ------
        UsageError
            If ``texts`` is one string, or a callable returns something else than a string or strings.

        Examples
        --------
        >>> tokenizer("words").lines(["Well-known, isn't it?", ""], lowercase=True)
        ["well-known , isn't it ?", '']
        """
        if isinstance(texts, str):
            raise UsageError("Tokenizer.lines takes a list of texts, not one string; put the string into a list")
        if self._lines is not None:
            return self._lines(texts, lowercase)
        if lowercase:
            texts = [text.lower() for text in texts]
        split = self._split
        join = join_tokens if self._escape else " ".join
        # Trailing white space is stripped before tokenizing, as in sacreBLEU (intl depends on it).
        return [join(split(text.rstrip())) for text in texts]

    def tokens(self, text: str, lowercase: bool = False) -> list[str]:
        """Tokenize one text for display, without escapes.

        Parameters
        ----------
        text
            The text.
        lowercase
            Lower-case the text before it is tokenized.

        Returns
        -------
        list of str
            The tokens.

        Examples
        --------
        >>> tokenizer("13a").tokens("Hello, world.")
        ['Hello', ',', 'world', '.']
        >>> tokenizer(lambda text: text.split(", ")).tokens("New York, Rio")
        ['New York', 'Rio']
        """
        return self._split((text.lower() if lowercase else text).rstrip())

    @property
    def known_as(self) -> str | None:
        """The name to create it from with `tokenizer`, also in other processes; None for a callable.

        Examples
        --------
        >>> tokenizer("char").known_as
        'char'
        >>> tokenizer(str.split).known_as
        """
        return self._spec if isinstance(self._spec, str) else None

    def __reduce__(self) -> tuple[Callable[[Spec, str], Tokenizer], tuple[Spec, str]]:
        # Objects of MeCab and SentencePiece cannot be pickled, but their names can.
        return _made_again, (self._spec, self.model)


def names() -> tuple[str, ...]:
    """Return the names of all tokenizers: sacreBLEU's, then TruBLEU's own.

    Examples
    --------
    >>> names()[:4]
    ('13a', 'intl', 'char', 'zh')
    >>> names()[-2:]
    ('chat', 'words')
    """
    return (*sacrebleu.NAMES, *OWN)


def tokenizer(spec: Spec | Tokenizer) -> Tokenizer:
    """Return a tokenizer by name, or one that wraps a callable.

    Parameters
    ----------
    spec
        One of `names`, or a callable that takes a text and returns either a string (its tokens are what white space
        separates) or a sequence of strings (each is one token, whatever it contains). A callable gets the text without
        white space at its end and, if asked for, lower-cased, as sacreBLEU's tokenizers do. A tokenizer is returned as
        it is.

    Returns
    -------
    Tokenizer
        Ready to use. Its name is sacreBLEU's signature for sacreBLEU's tokenizers (``ja-mecab-0.996-IPA``),
        ``module.qualname`` for callables, and has a version where ours have changed (``words-3``).

    Raises
    ------
    UsageError
        If there is no tokenizer of this name, or ``spec`` is neither a string nor callable.
    MissingExtraError
        If a package that the tokenizer needs is not installed.
    DataError
        If the SentencePiece model of ``spm``, ``flores101`` or ``flores200`` is not on this machine: nothing is
        downloaded.

    Examples
    --------
    >>> tokenizer("intl").tokens("3.5 km, ok?")
    ['3.5', 'km', ',', 'ok', '?']
    >>> tokenizer(str.split).name
    'str.split'
    """
    if isinstance(spec, Tokenizer):
        return spec
    if isinstance(spec, str):
        return _named(spec)
    if callable(spec):
        name = _name(spec)
        return Tokenizer(name, None, spec, functools.partial(_call, spec, name), _escape=True)
    raise UsageError(f"a tokenizer is a name or a callable, not {type(spec).__name__}; known: {', '.join(names())}")


def _made_again(spec: Spec, model: str) -> Tokenizer:
    """Create the tokenizer of another process again."""
    made = tokenizer(spec)
    if made.model != model:
        raise UsageError(
            f"the tokenizer {spec} has another SentencePiece model on the node {socket.gethostname()} than where the "
            "work was begun; copy the same one to every node"
        )
    return made


def _named(name: str) -> Tokenizer:
    if name in _NATIVE:
        return Tokenizer(name, name, name, functools.partial(_late, name), _escape=False)
    if name in OWN:
        module = import_module(OWN[name])
        lines = getattr(module, "lines", None)
        return Tokenizer(module.SIGNATURE, None, name, module.split, _escape=False, _lines=lines)
    if name in sacrebleu.NAMES:
        loaded = sacrebleu.load(name)
        return Tokenizer(loaded.signature, None, name, loaded.split, _escape=False, model=loaded.model)
    raise UsageError(f"there is no tokenizer {name!r}; {nearest(name, names())}")


def _late(name: str, text: str) -> list[str]:
    return sacrebleu.load(name).split(text)


def _name(function: Callable[..., object]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    # An object with __call__ has no name of its own; its class has.
    named = function if hasattr(function, "__qualname__") else type(function)
    module = getattr(named, "__module__", None)
    return f"{module}.{named.__qualname__}" if module else named.__qualname__


def _call(function: Callable[[str], str | Sequence[str]], name: str, text: str) -> list[str]:
    # Typed as object because a callable may return anything.
    result: object = function(text)
    if isinstance(result, str):
        return result.split()
    if isinstance(result, Sequence) and not isinstance(result, bytes | bytearray | memoryview):
        strange = [token for token in result if not isinstance(token, str)]
        if not strange:
            return list(result)
        returned = f"a {type(result).__name__} with {strange[0]!r:.80} in it"
    else:
        returned = type(result).__name__
    raise UsageError(
        f"The tokenizer {name} returned {returned} for the text {text!r:.80}; "
        "it must return a string or a list of strings"
    )
