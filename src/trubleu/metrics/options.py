"""The options of metrics, declared once: what each sets and takes. ``--help`` and ``--list-metrics`` show this.

A metric has an option by having a field or parameter of its name, whose default holds. No heavy imports, so ``--help``
can use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

FLAG: Final = "true or false"


class Option(NamedTuple):
    """An option of one or more metrics.

    Attributes
    ----------
    help
        What it sets.
    choices
        The accepted words.
    values
        The accepted values, if they are not a few words.
    placeholder
        Its placeholder where it is given for all metrics at once, as in ``--tokenize NAME``; ``FLAG`` for a flag. Empty
        if it can only be set in brackets.
    defaults
        Its default on the command line, with the metrics that have another one.
    differing
        Choices or values of metrics that take other ones.
    in_brackets
        Metrics that take it in brackets only.
    number
        Whether the command line takes nothing but a number.
    """

    help: str
    choices: tuple[str, ...] = ()
    values: str = FLAG
    placeholder: str = ""
    defaults: str = ""
    differing: Mapping[str, tuple[str, ...] | str] = {}
    in_brackets: tuple[str, ...] = ()
    number: bool = False

    def choices_of(self, metric: str) -> tuple[str, ...]:
        """Return the words that a metric accepts."""
        found = self.differing.get(metric.removesuffix("-f"), self.choices)
        return found if isinstance(found, tuple) else ()

    def values_of(self, metric: str) -> str:
        """Return the values that a metric accepts, for people."""
        found = self.differing.get(metric.removesuffix("-f"), self.choices or self.values)
        return found if isinstance(found, str) else f"{', '.join(found[:-1])} or {found[-1]}"

    @property
    def text(self) -> str:
        """The help on the command line."""
        if self.placeholder == FLAG:
            return self.help + (f" ({self.defaults})" if self.defaults else "")
        return f"{self.help}: {self.values_of('')}" + (f" (default: {self.defaults})" if self.defaults else "")


_SMOOTHING: Final = ("exp", "floor", "add-k", "none")
_SOFT_SMOOTHING: Final = ("lin-och", *_SMOOTHING)

OPTIONS: Final[dict[str, Option]] = {
    "tokenize": Option(
        "tokenizer",
        values="13a, intl, char, zh, words, chat, none, …",
        placeholder="NAME",
        defaults="13a; trubleu: words",
    ),
    "lowercase": Option("lower-case all texts", placeholder=FLAG, defaults="the default of trubleu and meteor"),
    "smoothing": Option(
        "smoothing of orders without matches",
        _SMOOTHING,
        placeholder="KIND",
        defaults="exp; self-bleu: floor; bleu2vec and dbleu2vec: lin-och",
        differing={"bleu2vec": _SOFT_SMOOTHING, "dbleu2vec": _SOFT_SMOOTHING},
    ),
    "smoothing_value": Option(
        "constant of the smoothing",
        values="a number, for floor (0.1) or add-k (1)",
        placeholder="X",
        number=True,
    ),
    "effective_order": Option("leave out n-gram orders that the texts are too short for", placeholder=FLAG),
    "reference_length": Option(
        "reference that sets the length of a segment",
        ("closest", "shortest", "longest", "average"),
        placeholder="RULE",
        defaults="closest",
    ),
    "variant": Option(
        "smoothing of sBLEU and sentence-level ΔBLEU",
        ("lin-och", "nakov", "nakov-all", "sacrebleu"),
        placeholder="NAME",
        defaults="lin-och",
    ),
    "definition": Option(
        "formula of ΔBLEU or bleu2vec",
        ("paper", "fork2019"),
        placeholder="NAME",
        defaults="paper; bleu2vec: paper or release2017",
        differing={"bleu2vec": ("paper", "release2017")},
    ),
    "negative": Option(
        "what a sum of matches below 0 becomes",
        values="clamp, floor:E or error",
        placeholder="RULE",
        defaults="clamp",
    ),
    "length_references": Option(
        "references that can set the length in ΔBLEU", ("all", "positive"), placeholder="WHICH", defaults="all"
    ),
    "no_positive": Option(
        "segments without a reference of positive weight", ("error", "skip"), placeholder="RULE", defaults="error"
    ),
    "unrated_as": Option(
        "weight of references that are not rated yet", values="a number from -1 to 1", placeholder="W", number=True
    ),
    "vectors": Option(
        "vectors for trubleu, bleu2vec and dbleu2vec",
        values="ready, or the path of a store, a file or a folder",
        placeholder="PATH",
        defaults="ready",
    ),
    "similarity": Option(
        "similarity from a cosine in bleu2vec and dbleu2vec",
        values="raw, clamp or shift:S",
        placeholder="RULE",
        defaults="raw; dbleu2vec: clamp, and not raw",
        differing={"dbleu2vec": "clamp or shift:S"},
    ),
    "oov": Option(
        "similarity of n-grams without a vector",
        values="a number from 0 to 1, or composed",
        placeholder="X",
        defaults="0.001",
    ),
    "credit": Option(
        "credit for near misses in dbleu2vec", ("earn", "nearest", "max"), placeholder="RULE", defaults="earn"
    ),
    "corpus": Option(
        "where nist and cider count n-grams, instead of the references",
        values="a file of references",
        placeholder="FILE",
    ),
    "alpha": Option(
        "weight of the references in iBLEU",
        values="a number from 0 to 1",
        placeholder="A",
        defaults="0.9",
        in_brackets=("meteor",),
        number=True,
    ),
    "beta": Option(
        "weight of recall; in METEOR, exponent of the penalty",
        values="a number above 0",
        differing={
            "meteor": "a number, at least 0",
            "chrf": "an integer, at least 1",
            "chrf++": "an integer, at least 1",
        },
    ),
    "shift": Option("cosine up to which words count as unlike", values="a number from 0 to below 1"),
    "importance": Option("weight of a word", ("vector", "corpus", "none")),
    "characters": Option("whether characters are one of the factors"),
    "recall": Option("mean of precision and recall, without a brevity penalty"),
    "threshold": Option("least similarity that earns anything", values="a number from 0 to 1"),
    "sigma": Option("width of the length penalty", values="a number above 0"),
    "char_order": Option("longest character n-grams", values="an integer, at least 1"),
    "word_order": Option("longest word n-grams", values="an integer, at least 0"),
    "whitespace": Option("keep white space in character n-grams"),
    "eps_smoothing": Option("smooth as the first implementations did"),
    "gamma": Option("largest penalty for word order", values="a number from 0 to 1"),
    "stemmer": Option("stemmer", values="porter, another Snowball stemmer (english, german, …) or none"),
    "synonyms": Option("synonyms", values="none, wordnet, or the folder of a WordNet"),
    "stem": Option("reduce words to their stems"),
    "normalized": Option("split punctuation off, as TERCOM does"),
    "no_punct": Option("ignore punctuation"),
    "asian_support": Option("split Asian characters, with normalized"),
    "case_sensitive": Option("tell upper from lower case"),
}
"""All options by name, except ``order``, which is part of a metric's name."""

SHARED: Final = tuple(name for name, each in OPTIONS.items() if each.placeholder)
"""Options that can be given for all metrics at once."""
