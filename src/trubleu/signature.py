"""How a number was made: every option that can change it."""

from __future__ import annotations

from dataclasses import dataclass

from trubleu._version import __version__


@dataclass(frozen=True, slots=True)
class Signature:
    """The name of a metric, then ``key:value`` pairs, then the version, as sacreBLEU's users know it.

    Two scores may be compared if their signatures are equal.

    Attributes
    ----------
    metric
        The metric's name with its order, such as ``dbleu-2``.
    pairs
        Every option that can change the number, in a fixed order.

    Examples
    --------
    >>> signature = Signature("bleu-4", (("case", "mixed"), ("tok", "13a")))
    >>> str(signature).replace(__version__, "X")
    'bleu-4|case:mixed|tok:13a|version:trubleu-X'
    """

    metric: str
    pairs: tuple[tuple[str, str], ...]

    def extended(self, **pairs: object) -> Signature:
        """Return the signature with more pairs; values become text as in `make_signature`."""
        added = tuple((key, _text(value)) for key, value in pairs.items() if value is not None)
        return Signature(self.metric, self.pairs + added)

    def to_dict(self) -> dict[str, str]:
        """Return the parts by name."""
        return {"metric": self.metric, **dict(self.pairs), "version": f"trubleu-{__version__}"}

    def __str__(self) -> str:
        parts = [self.metric, *(f"{key}:{value}" for key, value in self.pairs), f"version:trubleu-{__version__}"]
        return "|".join(parts)


def make_signature(metric: str, **pairs: object) -> Signature:
    """Make a signature from values: booleans become yes and no, numbers their shortest form, None is left out.

    Examples
    --------
    >>> make_signature("bleu-4", eff=False, smooth="floor[0.1]", extra=None).pairs
    (('eff', 'no'), ('smooth', 'floor[0.1]'))
    """
    return Signature(metric, ()).extended(**pairs)


def without_markdown(signature: str) -> str:
    """Return a signature of a score that says that its texts had no Markdown.

    Examples
    --------
    >>> without_markdown("bleu-4|nrefs:1|version:trubleu-1.0")
    'bleu-4|nrefs:1|markdown:strip|version:trubleu-1.0'
    """
    settings, bar, version = signature.rpartition("|")
    return f"{settings}|markdown:strip{bar}{version}"


def number_text(value: float) -> str:
    """Return the shortest form that no other number shares.

    Examples
    --------
    >>> number_text(1.0), number_text(0.1000000001)
    ('1', '0.1000000001')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number_text(value)
    return str(value)
