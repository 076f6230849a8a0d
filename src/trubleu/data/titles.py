"""What columns of tables may be called, listed in ``titles.toml`` as `trubleu.files.tables.plain_title` writes it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

_FOUND: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _titles(kind: str) -> dict[str, tuple[str, ...]]:
    return {field: tuple(text.format(**_FOUND["shared"]).split()) for field, text in _FOUND[kind].items()}


REFERENCE_TITLES: Final = _titles("references")
OUTPUT_TITLES: Final = _titles("outputs")
RATING_TITLES: Final = _titles("ratings")
TRIPLE_TITLES: Final = _titles("triples")
ANSWER_TITLES: Final = _titles("answers")

GOOD_BAD_TITLES: Final = {
    "good": r"(good|correct|accepted)(answer|reference|response|output|text|example)s?\d*|chosen",
    "bad": r"(bad|incorrect|wrong|rejected)(answer|reference|response|output|text|example)s?\d*|rejected",
}
"""The patterns of columns with good and with bad references."""

RATER_TITLES: Final = {"ratings": r"(r|rater|ratings?|annotator|judge|worker|score)\d+"}
"""The pattern of columns with the ratings of one rater each."""
