"""Results of a demo that were made up by hand, with texts that would break a careless page."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from trubleu.data import References
from trubleu.demo.results import Agreement, RatedReference, Results, Score
from trubleu.demo.runner import Done, Journal
from trubleu.demo.steps import METRICS, SYSTEMS, DemoOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HOSTILE = "</script><script>window.flag=1</script><img src=http://192.0.2.1/x.png onerror=window.flag=2> & 'q\" \ud800"
MESSAGE = "where did you get the old guitar ?"
REFERENCES = (
    ("i got it at the flea market", 0.75, "seed", (5, 4, 4), 4.6),
    ("from the shop in town", 0.5, "mined", (4, 4, 4), 4.2),
    ("i don't know", -0.5, "mined", (2, 2, 2), 1.9),
    (MESSAGE, -0.75, "parrot", (2, 1, 2), 1.5),
    (HOSTILE, -1.0, "random", (1, 1, 1), 1.2),
)
OUTPUTS = {
    "strong": "i got it at the old shop in town",
    "fair": "i got it from the market",
    "weak": "the guitar is old",
    "retrieval": "at the market on sunday",
    "dull": "i don't know",
    "parrot": MESSAGE,
    "random": HOSTILE,
}
TRUTH = dict(zip(SYSTEMS, (4.3, 3.6, 2.8, 2.3, 1.9, 1.5, 1.2), strict=True))
FOOLED = (30.0, 25.0, 15.0, 12.0, 40.0, 90.0, 5.0)
RIGHT = (30.0, 25.0, 18.0, 10.0, 2.0, 0.0, 0.0)


def results(
    scores: Mapping[str, Sequence[float]] | None = None,
    *,
    good: Mapping[str, Sequence[float]] | None = None,
    truth: Mapping[str, float] | None = None,
    p: float = 0.01,
    segments: int = 20,
) -> Results:
    """Return results with some scores; BLEU is fooled, ΔBLEU only without bad references, unless others are given."""
    chosen = {
        "bleu-2": FOOLED,
        "bleu2vec-2": FOOLED,
        "dbleu-2": RIGHT,
        "dbleu2vec-2": RIGHT,
        "trubleu": RIGHT,
        **(scores or {}),
    }
    chosen_good = {"bleu-2": FOOLED, "dbleu-2": FOOLED, **(good or {})}
    true = TRUTH if truth is None else truth
    pairs = [(metric, *pair) for metric in METRICS for pair in permutations(SYSTEMS, 2)]
    texts = [text for text, *_ in REFERENCES]
    references = References(
        texts * segments,
        [place * len(texts) for place in range(segments + 1)],
        [weight for _, weight, *_ in REFERENCES] * segments,
        ids=[f"s{place}" for place in range(segments)],
        messages=[MESSAGE] * segments,
        contexts=[("hello <b>you</b>",)] * segments,
        origins=[origin for _, _, origin, *_ in REFERENCES] * segments,
    )
    return Results(
        journal=Journal(
            options=DemoOptions(segments=segments),
            done=(Done(step="world", commands=("trubleu simulate world 'a&b/<i>'",), at="2020-01-01", seconds=1.25),),
        ),
        systems=tuple(SYSTEMS),
        metrics=METRICS,
        truth=true,
        people={name: round(value) for name, value in true.items()},
        scores=_scores(chosen),
        p=dict.fromkeys(pairs, p),
        good_scores=_scores(chosen_good),
        good_p=dict.fromkeys(pairs, p),
        agreement={
            "bleu-2": Agreement(rho=-0.2, low=-0.4, high=0.1),
            "dbleu-2": Agreement(rho=0.7, low=0.6, high=0.8),
            "dbleu2vec-2": Agreement(rho=0.8, low=0.7, high=0.85),
            "trubleu": Agreement(rho=None, low=None, high=None),
        },
        beats={("dbleu-2", "bleu-2"): (0.9, 0.0004), ("bleu-2", "dbleu-2"): (-0.9, 0.0004)},
        references=references,
        rated=tuple(
            RatedReference(
                segment=f"s{place}", text=text, origin=origin, ratings=ratings, weight=weight, quality=quality
            )
            for place in range(segments)
            for text, weight, origin, ratings, quality in REFERENCES
        ),
        outputs={name: [text] * segments for name, text in OUTPUTS.items()},
        qualities={name: [true[name]] * segments for name in SYSTEMS},
        alpha=0.61,
        raters=3,
        output_raters=3,
        notes=("100 % of the outputs of parrot equal a reference; so beware",),
    )


def _scores(values: Mapping[str, Sequence[float]]) -> dict[tuple[str, str], Score]:
    return {
        (metric, name): Score(value=value, low=value - 1, high=value + 2)
        for metric, row in values.items()
        for name, value in zip(SYSTEMS, row, strict=True)
    }
