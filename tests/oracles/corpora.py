"""Random corpora for property tests: few words, so that n-grams meet, and everything that texts have at their edges."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

SMOOTHINGS = ("exp", "floor", "add-k", "none")
LENGTH_RULES = ("closest", "shortest", "longest", "average")
DEFINITIONS = ("paper", "fork2019")
VARIANTS = ("lin-och", "nakov", "nakov-all", "sacrebleu")

WORDS = ("a", "b", "the", "The", "cat", "sat.")
"""Plain words; three of them in a row are often the same twice."""

ODD_WORDS = (
    *WORDS, "don't", "3.5", "1,000", "e.g.", "3-4", "(x)", "&quot;", "&amp;lt;", "<skipped>", "$5", "Straße", "İ", "ΑΣ",
    "naïve", "中文字", "日本", "🙂", "👩‍👩‍👧", "é", "e\u0301", "\u200b", "«ja»", "५", "Ⅳ", "no-\n", "\ud83d",
)  # fmt: skip
"""Words that tokenizers and case folding disagree about."""

SPACES = (" ", " ", " ", "  ", "\t", "\u00a0", "\u3000", "\u2028", "\n", "\x1f")


class Corpus(NamedTuple):
    """Outputs, and for each of them its references and their weights."""

    outputs: list[str]
    references: list[list[str]]
    weights: list[list[float]]


def plain_texts(longest: int = 9) -> st.SearchStrategy[str]:
    """Return texts of a few words; empty ones too."""
    return st.lists(st.sampled_from(WORDS), max_size=longest).map(" ".join)


@st.composite
def odd_texts(draw: st.DrawFn, longest: int = 9) -> str:
    """Draw a text of odd words between odd spaces."""
    words = draw(st.lists(st.sampled_from(ODD_WORDS), max_size=longest))
    spaces = draw(st.lists(st.sampled_from(SPACES), min_size=len(words), max_size=len(words)))
    return draw(st.sampled_from(("", "", " "))) + "".join(map("".join, zip(words, spaces, strict=True)))


# Multiples of 1/64 have exact sums and products, so results can be compared without a tolerance, and no sum of matches
# that should be 0 is a rounding error instead.
exact_weights = st.integers(-64, 64).map(lambda n: n / 64)
positive_weights = st.integers(1, 64).map(lambda n: n / 64)
# Weights near the smallest float have hardly any digits left to compare.
any_weights = st.one_of(exact_weights, st.floats(1e-6, 1), st.floats(-1, -1e-6))


@st.composite
def corpora(
    draw: st.DrawFn,
    texts: st.SearchStrategy[str] | None = None,
    weights: st.SearchStrategy[float] = exact_weights,
    *,
    segments: int = 5,
    references: int = 4,
    positive: bool = True,
    smallest: int = 1,
) -> Corpus:
    """Draw a corpus; if ``positive``, each segment has a reference of positive weight somewhere."""
    texts = plain_texts() if texts is None else texts
    count = draw(st.integers(smallest, segments))
    outputs = draw(st.lists(texts, min_size=count, max_size=count))
    reference_lists, weight_lists = [], []
    for _ in range(count):
        some = draw(st.lists(texts, min_size=1, max_size=references))
        weighted = draw(st.lists(weights, min_size=len(some), max_size=len(some)))
        if positive and max(weighted) <= 0:
            weighted[draw(st.integers(0, len(some) - 1))] = draw(positive_weights)
        reference_lists.append(some)
        weight_lists.append(weighted)
    return Corpus(outputs, reference_lists, weight_lists)


def streams(references: list[list[str]]) -> Any:
    """Turn references per segment into sacreBLEU's parallel lists, None where a segment has fewer."""
    most = max(map(len, references))
    return [[row[k] if k < len(row) else None for row in references] for k in range(most)]
