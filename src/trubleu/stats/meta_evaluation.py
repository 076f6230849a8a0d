"""Agreement of metrics with people on outputs and systems: coefficients, pairwise accuracy, tie calibration.

Ratings are a table with a row per system and a column per item, NaN for missing ratings. Scores of several metrics are
a stack of such tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from trubleu.errors import DataError
from trubleu.stats.correlation import rank_correlations, weighted_pearson

if TYPE_CHECKING:
    from numpy.typing import NDArray

Grouping: TypeAlias = Literal["pooled", "item", "system"]
"""Outputs that are correlated together: all of them, those of one item, those of one system."""

Coefficient: TypeAlias = Literal["pearson", "spearman", "kendall", "kendall-c"]

GROUPINGS: Final[tuple[Grouping, ...]] = ("pooled", "item", "system")
COEFFICIENTS: Final[tuple[Coefficient, ...]] = ("pearson", "spearman", "kendall", "kendall-c")

SLACK: Final = 1e-9
"""Sums closer than this share of the largest possible sum are equal up to rounding."""

EQUAL: Final = 1e-12
"""Shares of variance below this are rounding errors."""

_OUT: Final = np.nan

TAUS: Final[dict[str, tuple[tuple[float, ...], ...]]] = {
    "tau-wmt12": ((1, -1, -1), (_OUT, _OUT, _OUT), (-1, -1, 1)),
    "tau-wmt13": ((1, _OUT, -1), (_OUT, _OUT, _OUT), (-1, _OUT, 1)),
    "tau-wmt14": ((1, 0, -1), (_OUT, _OUT, _OUT), (-1, 0, 1)),
    "tau-hties": ((1, 0, -1), (0, 1, 0), (-1, 0, 1)),
}
"""The variants of WMT's Kendall-like τ: what a pair of outputs adds if people (rows) and the metric (columns) find the
first one worse, as good or better; NaN leaves the pair out."""


class GroupMeans(NamedTuple):
    """A coefficient of each metric, averaged over the groups in which it is defined."""

    value: NDArray[np.float64]
    """NaN if it is defined in no group."""
    groups: NDArray[np.int64]
    """Number of groups in which it is defined."""


def coefficient_means(
    people: NDArray[np.float64], scores: NDArray[np.float64], coefficient: Coefficient, grouping: Grouping
) -> GroupMeans:
    """Correlate metrics with people within groups of outputs, and average over the groups.

    Groups in which a coefficient is undefined, because all ratings or all scores are equal, are left out of the mean.

    Parameters
    ----------
    people
        ``float64[systems, items]``, NaN where nobody rated.
    scores
        ``float64[metrics, systems, items]``, finite wherever somebody rated.
    coefficient
        Pearson's r, Spearman's ρ, Kendall's τ-b (``kendall``) or τ-c (``kendall-c``).
    grouping
        ``pooled``, ``item`` or ``system``.

    Examples
    --------
    >>> people = np.array([[1.0, 5.0, 2.0], [2.0, np.nan, 2.0]])
    >>> coefficient_means(people, people[None] * 2, "kendall", "item")
    GroupMeans(value=array([1.]), groups=array([1]))
    """
    found = coefficients(people, scores, coefficient, grouping)
    defined = np.isfinite(found)
    groups = defined.sum(axis=1)
    sums = np.where(defined, found, 0.0).sum(axis=1)
    return GroupMeans(np.where(groups > 0, sums / np.maximum(groups, 1), np.nan), groups)


def coefficients(
    people: NDArray[np.float64], scores: NDArray[np.float64], coefficient: Coefficient, grouping: Grouping
) -> NDArray[np.float64]:
    """Return the coefficient of each metric in each group, ``float64[metrics, groups]``, NaN if undefined.

    Parameters
    ----------
    people, scores, coefficient, grouping
        As in `coefficient_means`.
    """
    with np.errstate(invalid="ignore"):
        return _in_groups(_grouped(scores, grouping), _grouped(people, grouping), coefficient)


def _grouped(table: NDArray[np.float64], grouping: Grouping) -> NDArray[np.float64]:
    """Return a table, or several, as ``[..., groups, points]``."""
    if grouping == "pooled":
        return table.reshape(*table.shape[:-2], 1, -1)
    return np.ascontiguousarray(np.swapaxes(table, -1, -2)) if grouping == "item" else table


def _in_groups(x: NDArray[np.float64], y: NDArray[np.float64], coefficient: Coefficient) -> NDArray[np.float64]:
    """Return ``float64[metrics, groups]``, NaN if undefined."""
    there = np.isfinite(y)
    clean = np.where(there, y, 0.0)
    if coefficient == "pearson":
        return weighted_pearson(np.where(there, x, 0.0), clean, there)
    metrics = len(x)
    flat = np.where(there, x, 0.0).reshape(metrics * len(y), -1)
    counts = None if there.all() else np.tile(there.astype(np.int64), (metrics, 1))
    found = rank_correlations(flat, np.tile(clean, (metrics, 1)), counts=counts)
    if coefficient == "spearman":
        return found.spearman.reshape(metrics, -1)
    tau = found.kendall.reshape(metrics, -1)
    return tau if coefficient == "kendall" else _tau_c(tau, x, clean, there)


def _tau_c(
    tau_b: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64], there: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return τ-c from τ-b: the same concordant and discordant pairs, with another denominator."""
    n = there.sum(axis=-1)
    pairs = n * (n - 1) // 2
    x_values, x_ties = _levels(x, there)
    y_values, y_ties = _levels(y, there)
    # Recovers the integer that was divided for τ-b.
    difference = np.rint(tau_b * np.sqrt((pairs - x_ties).astype(float) * (pairs - y_ties)))
    fewest = np.minimum(x_values, y_values)
    divisor = n.astype(float) ** 2 * (fewest - 1)
    return np.where(divisor > 0, 2.0 * difference * fewest / np.where(divisor > 0, divisor, 1.0), np.nan)


def _levels(values: NDArray[np.float64], there: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of distinct values in each group, and the number of tied pairs."""
    ordered = np.sort(np.where(there, values, np.inf), axis=-1)
    place = np.arange(ordered.shape[-1])
    new = np.ones(ordered.shape, dtype=bool)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    finite = np.isfinite(ordered)
    since = place - np.maximum.accumulate(np.where(new, place, 0), axis=-1)
    return (new & finite).sum(axis=-1), np.where(finite, since, 0).sum(axis=-1)


@dataclass(frozen=True, slots=True)
class OutputPairs:
    """Pairs of outputs for the same item: which one people prefer, and by how much each metric does.

    Attributes
    ----------
    item
        Of each pair, counted from 0.
    people
        −1, 0 or 1 for each pair.
    scores
        ``float64[metrics, pairs]``: the score of the first output less that of the second.
    """

    item: NDArray[np.int64]
    people: NDArray[np.int8]
    scores: NDArray[np.float64]

    @classmethod
    def of_scores(
        cls, people: NDArray[np.float64], scores: NDArray[np.float64], systems: NDArray[np.int64] | None = None
    ) -> OutputPairs:
        """Pair all rated outputs of each item.

        Parameters
        ----------
        people, scores
            As in `coefficient_means`.
        systems
            As in `system_pairs`.
        """
        first, second = system_pairs(len(people), systems)
        there = np.isfinite(people[first]) & np.isfinite(people[second])
        item, pair = np.nonzero(there.T)
        a, b = first[pair], second[pair]
        return cls(
            item, np.sign(people[a, item] - people[b, item]).astype(np.int8), scores[:, a, item] - scores[:, b, item]
        )

    def __len__(self) -> int:
        return len(self.item)

    def weights(self) -> NDArray[np.float64]:
        """Return the share of each pair in a mean over items: 1/(items × pairs of its item)."""
        return 1.0 / (self.items() * self.sizes())

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of pairs of each pair's item."""
        return np.asarray(np.bincount(self.item)[self.item], dtype=np.int64)

    def items(self) -> int:
        """Return the number of items with a pair."""
        return len(np.unique(self.item))

    def right(self, epsilon: NDArray[np.float64] | float = 0.0) -> NDArray[np.bool_]:
        """Return ``bool[metrics, pairs]``: which pairs a metric orders, or ties, as people do.

        Parameters
        ----------
        epsilon
            For each metric, the difference up to which two scores are a tie.
        """
        tied = np.abs(self.scores) <= np.reshape(epsilon, (-1, 1))
        return np.asarray(np.where(tied, self.people == 0, np.sign(self.scores) == self.people))

    def accuracy(self, epsilon: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
        """Return acc_eq of each metric: the share of pairs that it orders, or ties, as people do, averaged over items.

        Parameters
        ----------
        epsilon
            For each metric, the difference up to which two scores are a tie.

        References
        ----------
        Deutsch, D., Foster, G. & Freitag, M. (2023). Ties matter: meta-evaluating modern metrics with pairwise accuracy
        and tie calibration. EMNLP, 12914–12929.

        Examples
        --------
        >>> people = np.array([[1.0], [1.0], [2.0]])
        >>> OutputPairs.of_scores(people, np.array([[[1.0], [1.5], [4.0]]])).accuracy().round(3).tolist()
        [0.667]
        """
        right, sizes = self.right(epsilon), self.sizes()
        if not len(self):
            return np.full(len(right), np.nan)
        # Counts are integers, so the order of addition does not matter.
        found = [(right & (sizes == size)).sum(axis=-1) / size for size in np.unique(sizes).tolist()]
        return np.asarray(sum(found[1:], found[0]) / self.items())

    def credits(self, variant: str) -> NDArray[np.int8]:
        """Return what WMT's τ is made of, ``int8[3, metrics, pairs]``.

        For each pair its credit, whether it enters, and whether the metric tells its two outputs apart.

        Parameters
        ----------
        variant
            One of `TAUS`.
        """
        return _credits(variant)[:, self._cells()]

    def _cells(self) -> NDArray[np.int8]:
        """Return which of nine cells each pair is in, ``int8[metrics, pairs]``: people worse, equal, better; metric."""
        metric = (self.scores > 0.0).astype(np.int8) - (self.scores < 0.0)
        return np.asarray(3 * (self.people + 1) + metric + 1)

    def tau(self, variant: str) -> NDArray[np.float64]:
        """Return WMT's Kendall-like τ of each metric: the sum of credits divided by the number of pairs that enter.

        NaN if no pair enters, or the metric tells the outputs of no pair apart.

        Parameters
        ----------
        variant
            One of `TAUS`; they differ in how ties count.

        References
        ----------
        Macháček, M. & Bojar, O. (2014). Results of the WMT14 metrics shared task. WMT, 293–301.

        Examples
        --------
        >>> people = np.array([[1.0], [2.0], [3.0]])
        >>> pairs = OutputPairs.of_scores(people, np.array([[[1.0], [1.0], [4.0]]]))
        >>> [pairs.tau(variant).round(3).tolist() for variant in TAUS]
        [[0.333], [1.0], [0.667], [0.667]]
        """
        counts = np.array([np.bincount(each, minlength=9) for each in self._cells()])
        return ratio_of_sums(counts @ _credits(variant).T.astype(np.int64))

    def calibrated(self) -> NDArray[np.float64]:
        """Return per metric the tie threshold ε ≥ 0 that maximises acc_eq, the smallest of several.

        A threshold is 0 or a difference that occurs in the data.

        Raises
        ------
        DataError
            If there are no pairs.

        Examples
        --------
        >>> people = np.array([[1.0], [1.0], [2.0]])
        >>> pairs = OutputPairs.of_scores(people, np.array([[[1.0], [1.5], [4.0]]]))
        >>> pairs.calibrated().tolist(), pairs.accuracy(pairs.calibrated()).tolist()
        ([0.5], [1.0])
        """
        if not len(self):
            raise DataError("no item has two rated outputs, so there is no pair to calibrate ties with")
        sizes = self.sizes()
        kinds, kind = np.unique(sizes, return_inverse=True)
        # How a tie would change the number of correct pairs, per pair: 1, 0 or −1.
        gains = (self.people == 0).astype(np.int8) - (np.sign(self.scores) == self.people)
        return np.array(
            [_best_threshold(np.abs(each), gain, kind, kinds) for each, gain in zip(self.scores, gains, strict=True)]
        )


def _credits(variant: str) -> NDArray[np.int8]:
    """Return the credit of each of nine cells, whether it enters, and whether the metric tells outputs apart there."""
    credit = np.array(TAUS[variant]).ravel()
    return np.stack([np.nan_to_num(credit), np.isfinite(credit), np.arange(9) % 3 != 1]).astype(np.int8)


def ratio_of_sums(sums: NDArray[Any]) -> NDArray[np.float64]:
    """Return a measure from sums ``[..., 3]``: of credits, of weights, and optionally of what makes it defined."""
    defined = (sums[..., 1] > 0) & (sums[..., -1] > 0)
    return np.where(defined, sums[..., 0] / np.where(defined, sums[..., 1], 1.0), np.nan)


def _best_threshold(
    size: NDArray[np.float64], gain: NDArray[np.int8], kind: NDArray[np.intp], kinds: NDArray[np.int64]
) -> float:
    matters = np.flatnonzero(gain)
    order = matters[np.argsort(size[matters], kind="stable")]
    ordered = size[order]
    total = np.zeros(len(order))
    for number, pairs in enumerate(kinds.tolist()):
        total += np.cumsum(np.where(kind[order] == number, gain[order], 0)) / pairs
    last = np.ones(len(order), dtype=bool)
    last[:-1] = ordered[1:] != ordered[:-1]
    total = np.where(last, total, -np.inf)
    if not len(total) or total.max() <= SLACK:
        return 0.0
    return float(ordered[np.argmax(total >= total.max() - SLACK)])


def system_means(
    people: NDArray[np.float64], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean rating and the mean scores of each system, over its rated items.

    Returns
    -------
    tuple
        ``float64[systems]`` and ``float64[metrics, systems]``.
    """
    there = np.isfinite(people)
    count = np.maximum(there.sum(axis=1), 1)
    return np.where(there, people, 0.0).sum(axis=1) / count, np.where(there, scores, 0.0).sum(axis=2) / count


def system_pairs(count: int, systems: NDArray[np.int64] | None = None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the second of each pair of rows.

    Parameters
    ----------
    count
        How many rows there are.
    systems
        Which system each row is, where some are drawn repeatedly: a system is not compared with itself.
    """
    a, b = np.triu_indices(count, 1)
    if systems is None:
        return a, b
    apart = systems[a] != systems[b]
    return a[apart], b[apart]


def pairwise_accuracy(
    people: NDArray[np.float64], scores: NDArray[np.float64], systems: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return the share of pairs of systems that each metric orders, or ties, as people do.

    Parameters
    ----------
    people
        ``float64[systems]``.
    scores
        ``float64[..., systems]``.
    systems
        As in `system_pairs`.

    References
    ----------
    Kocmi, T. et al. (2021). To ship or not to ship: an extensive evaluation of automatic metrics for machine
    translation. WMT, 478–494.

    Examples
    --------
    >>> pairwise_accuracy(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 3.0, 2.0]])).round(3).tolist()
    [0.667]
    """
    a, b = system_pairs(len(people), systems)
    wanted = _sign(people[a] - people[b], people)
    return np.asarray((_sign(scores[..., a] - scores[..., b], scores) == wanted).mean(axis=-1))


def _sign(differences: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return signs; means that differ only in their last bits are equal."""
    return np.where(np.abs(differences) <= SLACK * np.abs(values).max(initial=0.0), 0.0, np.sign(differences))


def random_signs(trials: int, items: int, seed: int) -> NDArray[np.float64]:
    """Return ``float64[trials, items]`` of −1 and 1."""
    return np.where(random_bits(np.random.PCG64(seed), trials, items), 1.0, -1.0)


def random_bits(source: np.random.PCG64, trials: int, points: int) -> NDArray[np.bool_]:
    """Return random bits; each trial starts a new word, so the size of slices does not matter."""
    words = source.random_raw(trials * (-(-points // 64))).astype("<u8").view(np.uint8).reshape(trials, -1)
    return np.unpackbits(words, axis=1, count=points, bitorder="little").view(np.bool_)


def system_p_values(table: NDArray[np.float64], signs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each pair of systems the share of random signs with at least as large a difference.

    This is the one-sided p-value of the first system being better, by paired permutations of the items rated for both.

    Parameters
    ----------
    table
        ``float64[systems, items]``, NaN where there is nothing.
    signs
        ``float64[trials, items]`` of −1 and 1.

    Examples
    --------
    >>> system_p_values(np.array([[1.0, 2.0], [1.0, 2.0]]), random_signs(10, 2, seed=1)).tolist()
    [1.0]
    """
    first, second = np.triu_indices(len(table), 1)
    there = np.isfinite(table)
    if there.all():
        sums = table @ signs.T
        totals = table.sum(axis=1)
        drawn, observed = sums[first] - sums[second], totals[first] - totals[second]
    else:
        differences = np.where(there[first] & there[second], table[first] - table[second], 0.0)
        drawn, observed = differences @ signs.T, differences.sum(axis=1)
    slack = SLACK * np.abs(table[there]).sum()
    return np.asarray((drawn >= observed[:, None] - slack).mean(axis=1))


def normal_p_values(total: NDArray[np.float64], squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the p-values of `system_p_values` in the limit of many random signs, by the normal distribution.

    Parameters
    ----------
    total, squares
        Of each pair of systems, the sum of its differences and the sum of their squares.

    Examples
    --------
    >>> normal_p_values(np.array([0.0, 1.96]), np.array([1.0, 1.0])).round(3).tolist()
    [0.5, 0.025]
    """
    equal = squares <= 0.0
    x = np.where(equal, 0.0, total) / np.sqrt(2.0 * np.where(equal, 1.0, squares))
    return np.asarray(np.where(equal, 1.0, _half_erfc(x)))


def _half_erfc(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return erfc(x)/2 within 1e-7: Abramowitz & Stegun (1964), 7.1.26."""
    size = np.abs(x)
    t = 1.0 / (1.0 + 0.3275911 * size)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * series * np.exp(-size * size)
    return np.asarray(np.where(x >= 0.0, tail, 1.0 - tail))


def soft_pairwise_accuracy(
    people: NDArray[np.float64], scores: NDArray[np.float64], signs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the soft pairwise accuracy of each metric: the agreement of its p-values with those of people.

    For each pair of systems, p is the one-sided p-value of the first one being better, by random signs of the items:
    once by ratings and once by scores. The accuracy is 1 minus the mean difference between the two.

    Parameters
    ----------
    people, scores
        As in `coefficient_means`.
    signs
        ``float64[trials, items]`` of −1 and 1.

    References
    ----------
    Thompson, B., Mathur, N., Deutsch, D. & Khayrallah, H. (2024). Improving statistical significance in human
    evaluation of automatic metrics via soft pairwise accuracy. WMT, 1222–1234.

    Examples
    --------
    >>> people = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    >>> soft_pairwise_accuracy(people, people[None], random_signs(100, 3, seed=1)).tolist()
    [1.0]
    """
    wanted = system_p_values(people, signs)
    there = np.isfinite(people)
    return np.array(
        [1.0 - np.abs(system_p_values(np.where(there, each, np.nan), signs) - wanted).mean() for each in scores]
    )


class SystemDifferences:
    """Differences between each two systems per item, for the soft pairwise accuracy of resampled scores.

    With as many trials as tests need, p-values come from the normal distribution, which random signs approach.

    Attributes
    ----------
    wanted
        The p-values of people, ``float64[pairs]``.
    """

    def __init__(self, people: NDArray[np.float64], systems: NDArray[np.int64] | None = None) -> None:
        self._first, self._second = system_pairs(len(people), systems)
        there = np.isfinite(people)
        self._there = there.astype(np.float64)
        self._both = there[self._first] & there[self._second]
        self.wanted = normal_p_values(*self.sums(np.where(there, people, 0.0)))

    def of(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``float64[..., pairs, items]`` for ``float64[..., systems, items]``, 0 where one is not rated."""
        return np.where(self._both, table[..., self._first, :] - table[..., self._second, :], 0.0)

    def sums(self, table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sums of the differences and of their squares."""
        found = self.of(table)
        return found.sum(axis=-1), (found * found).sum(axis=-1)

    def accuracy(self, total: NDArray[np.float64], squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the soft pairwise accuracy of these sums: ``[..., pairs]`` to ``[...]``."""
        return np.asarray(1.0 - np.abs(normal_p_values(total, squares) - self.wanted).mean(axis=-1))

    def accuracy_of_tables(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the soft pairwise accuracy of scores, 0 where nobody rated: ``[..., systems, items]`` to ``[...]``."""
        first, second, there = self._first, self._second, self._there.T
        # Sums over the items that both systems have.
        sums, squares = tables @ there, (tables * tables) @ there
        products = tables @ np.swapaxes(tables, -1, -2)
        total = sums[..., first, second] - sums[..., second, first]
        spread = squares[..., first, second] + squares[..., second, first] - 2.0 * products[..., first, second]
        dust = EQUAL * squares.max(axis=(-2, -1))[..., np.newaxis]
        return self.accuracy(total, np.where(spread > dust, spread, 0.0))
