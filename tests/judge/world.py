"""A small world with known parts: systems, weighted references, ratings."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from trubleu.data import Ratings, References

if TYPE_CHECKING:
    from tests.oracles.protocol import Rated

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]


class World(NamedTuple):
    """What judging takes, in the shapes that the package and the plain statement take."""

    systems: dict[str, list[str]]
    rated: list[Rated]
    references: References
    ratings: Ratings
    means: dict[tuple[int, str], Fraction]


def make_world(segments: int = 24, systems: int = 3, seed: int = 1, *, missing: float = 0.0, raters: int = 2) -> World:
    """Make a world in which sums of weights are exact, so that ties are ties in any order of summation."""
    generator = random.Random(seed)

    seen: set[str] = set()

    def text() -> str:
        while (words := " ".join(generator.choices(WORDS, k=generator.randint(2, 5)))) in seen:
            pass
        seen.add(words)
        return words

    rated: list[Rated] = []
    for _ in range(segments):
        references: Rated = [(text(), generator.choice([0.25, 0.5, 0.75, 1.0]), "mined")]
        references += [
            (text(), generator.choice([-1, -0.5, 0, 0.25, 0.5, 1.0]), generator.choice(["mined", "random"]))
            for _ in range(generator.randint(0, 3))
        ]
        place = generator.randrange(len(references))
        if references[place][1] > 0:
            references[place] = (references[place][0], references[place][1], "seed")
        rated.append(references)
    names = "ABCDEFG"[:systems]
    outputs = {name: [generator.choice([text(), f"{each[0][0]} z"]) for each in rated] for name in names}
    rows, means = [], {}
    for segment in range(segments):
        for name in names:
            if generator.random() < missing:
                continue
            scores = [generator.randint(1, 5) for _ in range(generator.randint(1, raters))]
            means[segment, name] = Fraction(sum(scores), len(scores))
            rows += [(f"s{segment}", name, f"r{rater}", score) for rater, score in enumerate(scores)]
    generator.shuffle(rows)
    return World(
        outputs,
        rated,
        references_of(rated),
        Ratings.from_rows([dict(zip(("item", "system", "rater", "score"), row, strict=True)) for row in rows]),
        means,
    )


def references_of(rated: list[Rated]) -> References:
    """Return the same references as the package takes them."""
    counts = [len(each) for each in rated]
    flat = [each for references in rated for each in references]
    return References(
        [text for text, _, _ in flat],
        [sum(counts[:place]) for place in range(len(counts) + 1)],
        [weight for _, weight, _ in flat],
        ids=[f"s{segment}" for segment in range(len(rated))],
        origins=[origin for _, _, origin in flat],
    )
