"""Training options of n-gram vectors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args

from trubleu.errors import UsageError
from trubleu.native import MAX_ORDER
from trubleu.text import tokenizer

Mode = Literal["separate", "joint"]
Output = Literal["same", "words"]

MIN_COUNTS: Final = (5, 30, 50)
"""Default minimum counts of n-grams of one, two, and three or more words."""

BETA: Final = 0.125
"""How much less often frequent n-grams are joined than rare ones."""

MOST_DIMENSIONS: Final = 4096
MOST_NEGATIVES: Final = 63
MOST_WINDOW: Final = 1000
LEAST_ALPHA: Final = 1e-4
"""The final learning rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """Everything the vectors depend on, besides the text.

    Attributes
    ----------
    mode
        ``separate``: one model for each order, whose tokens are all n-grams of that order, overlapping. ``joint``: one
        model for words and n-grams; each epoch cuts the text anew at random into n-grams and words.
    orders
        Lengths of n-grams, rising.
    dim
        Numbers in a vector.
    window
        Most tokens between an entry and what it is trained with; how many it is each time is drawn from 1 to this.
    negative
        Random entries for each true one.
    epochs
        How often to go through the text.
    min_count
        How often an n-gram must be seen, one number for each order; by default 5, 30, and 50 for longer ones.
    beta
        A listed n-gram seen f times is a candidate for one entry with probability f to the power of −beta (``joint``).
    sample
        Share of the text from which on entries are left out at random; 0 keeps all.
    alpha
        Learning rate at the beginning, from which it falls evenly to 0.0001.
    seed
        Of everything random.
    output
        ``same``: n-grams are predicted like words. ``words``: n-grams predict single words only (``joint``).
    tokenize, lowercase
        As in scoring.

    Examples
    --------
    >>> TrainingOptions(orders=(1, 2)).min_count
    (5, 30)
    >>> TrainingOptions(dim=0)
    Traceback (most recent call last):
    trubleu.errors.UsageError: dim must be a whole number from 1 to 4,096, not 0
    """

    mode: Mode = "separate"
    orders: tuple[int, ...] = (1, 2, 3)
    dim: int = 100
    window: int = 5
    negative: int = 5
    epochs: int = 5
    min_count: tuple[int, ...] = ()
    beta: float = BETA
    sample: float = 1e-3
    alpha: float = 0.025
    seed: int = 1
    output: Output = "same"
    tokenize: str = "13a"
    lowercase: bool = False

    def __post_init__(self) -> None:
        for name, known in (("mode", get_args(Mode)), ("output", get_args(Output))):
            if getattr(self, name) not in known:
                raise UsageError(f"{name} must be {' or '.join(known)}, not {getattr(self, name)!r}")
        self._check_orders()
        if not self.min_count:
            counts = tuple(MIN_COUNTS[min(order, len(MIN_COUNTS)) - 1] for order in self.orders)
            object.__setattr__(self, "min_count", counts)
        elif len(self.min_count) == 1:
            object.__setattr__(self, "min_count", self.min_count * len(self.orders))
        if len(self.min_count) != len(self.orders):
            raise UsageError(
                f"min-count has {len(self.min_count)} numbers for {len(self.orders)} orders; "
                "give one for each, or just one"
            )
        for count in self.min_count:
            _check("min-count", count, 1, 2**63 - 1)
        limits = {"dim": MOST_DIMENSIONS, "window": MOST_WINDOW, "negative": MOST_NEGATIVES, "epochs": 1_000_000}
        for name, most in limits.items():
            _check(name, getattr(self, name), 1, most)
        _check("seed", self.seed, 0, 2**64 - 1)
        for name, least, largest in (("beta", 0.0, 10.0), ("sample", 0.0, 1.0), ("alpha", LEAST_ALPHA, 1.0)):
            _check(name, getattr(self, name), least, largest)

    def _check_orders(self) -> None:
        fine = all(type(order) is int and 1 <= order <= MAX_ORDER for order in self.orders)
        if not self.orders or not fine or list(self.orders) != sorted(set(self.orders)):
            raise UsageError(
                f"orders must be different whole numbers from 1 to {MAX_ORDER}, rising, such as 1-3; "
                f"not {','.join(map(str, self.orders)) or 'none'}"
            )
        if self.mode == "joint" and (self.orders[0] != 1 or len(self.orders) == 1):
            raise UsageError("mode joint trains words and n-grams together; give orders that begin with 1, such as 1-3")
        if self.output == "words" and self.mode != "joint":
            raise UsageError("output words is for mode joint: in mode separate an order's n-grams are all there is")
        if self.beta != BETA and self.mode != "joint":
            raise UsageError("beta is for mode joint: mode separate joins nothing at random; leave it out")

    def least_count(self, order: int) -> int:
        """Return the minimum count for an n-gram of this length to be useful.

        A longer n-gram never occurs more often than its parts, so shorter ones also matter for longer ones.

        Examples
        --------
        >>> TrainingOptions(orders=(2, 3), min_count=(30, 20)).least_count(1)
        20
        """
        return min(count for longer, count in zip(self.orders, self.min_count, strict=True) if longer >= order)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: lists as written on the command line, and the tokenizer's version.

        Examples
        --------
        >>> options = TrainingOptions(tokenize="words").to_dict()
        >>> options["min_count"], options["tokenizer"]
        ('5,30,50', 'words-3')
        """
        lists = {name: ",".join(map(str, getattr(self, name))) for name in ("orders", "min_count")}
        return asdict(self) | lists | {"tokenizer": tokenizer(self.tokenize).name}


def _check(name: str, value: object, least: float, most: float) -> None:
    """Raise an error for a number out of its range, which is of whole numbers if its ends are."""
    whole = isinstance(most, int)
    if not isinstance(value, int if whole else int | float) or isinstance(value, bool) or not least <= value <= most:
        kind, ends = ("whole number", f"{least} to {most:,}") if whole else ("number", f"{least:g} to {most:g}")
        raise UsageError(f"{name} must be a {kind} from {ends}, not {value}")
