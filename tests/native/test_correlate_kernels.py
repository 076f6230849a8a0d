"""The kernel of rank correlations against all pairs of observations, bit by bit and in both builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.oracles.builds import BUILDS
from tests.oracles.correlations import rank_coefficients
from trubleu.native import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

Numbers = st.one_of(
    st.integers(-3, 3).map(float),  # ties, and zeros, which are their own mirror images
    st.floats(-1e3, 1e3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1.0, 1.0 + 2**-52, -1.0, 1.7976931348623157e308]),
)


@st.composite
def sets(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64] | None]:
    points = draw(st.integers(0, 70))
    x, y = (draw(arrays(np.float64, (1, points), elements=Numbers)) for _ in "xy")
    counts = draw(st.none() | arrays(np.int64, (1, points), elements=st.integers(0, 3)))
    return x, y, counts


def expected(
    x: NDArray[np.float64], y: NDArray[np.float64], counts: NDArray[np.int64] | None, *, mirrored: bool
) -> tuple[float, float]:
    return rank_coefficients(
        x.ravel().tolist(), y.ravel().tolist(), None if counts is None else counts.ravel().tolist(), mirrored=mirrored
    )


@pytest.mark.parametrize("build", BUILDS)
@settings(deadline=None)
@given(points=sets(), mirrored=st.booleans())
def test_equals_all_pairs_bit_by_bit(
    build: str, points: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64] | None], mirrored: bool
) -> None:
    found = BUILDS[build].rank_correlations(*points, mirrored, 1)
    np.testing.assert_array_equal(found, [expected(*points, mirrored=mirrored)])


def kinds_of_points(count: int, seed: int) -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return {
        "smooth": rng.normal(size=(2, count)),
        "tied": rng.integers(-20, 20, (2, count)).astype(np.float64),
        "alike in their first bits": 1.0 + rng.integers(0, 50, (2, count)) * 2**-52,
        "in few heaps": np.ldexp(rng.integers(1, 3, (2, count)) + rng.integers(0, 9, (2, count)) * 2**-50, 600),
        "of every size": np.ldexp(rng.normal(size=(2, count)), rng.integers(-1000, 1000, (2, count))),
    }


# Below 48 points are sorted by comparing, from there on by digits, and tiers of running weights begin at 32 and 1024.
@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 47, 48, 100, 300])
@pytest.mark.parametrize("kind", kinds_of_points(1, 0))
@pytest.mark.parametrize("mirrored", [False, True])
def test_every_way_to_sort(count: int, kind: str, mirrored: bool) -> None:
    x, y = kinds_of_points(count, count)[kind][:, np.newaxis]
    for build in BUILDS.values():
        found = build.rank_correlations(x, y, None, mirrored, 1)
        np.testing.assert_array_equal(found, [expected(x, y, None, mirrored=mirrored)])


def array_coefficients(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """The same statement with NumPy's whole numbers, a row of the table of all pairs at a time."""

    def ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
        ordered = np.sort(values)
        return np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") - len(values)

    def counted(values: NDArray[np.float64]) -> int:
        return int(len(values) ** 2 - (np.unique(values, return_counts=True)[1].astype(np.int64) ** 2).sum())

    a, b = ranks(x), ranks(y)
    agreement = sum(int((np.sign(a - a[i]) * np.sign(b - b[i])).sum()) for i in range(len(x)))
    return (
        int(a @ b) / float(np.sqrt(float(a @ a) * float(b @ b))),
        agreement / float(np.sqrt(float(counted(x)) * float(counted(y)))),
    )


@pytest.mark.parametrize("kind", kinds_of_points(1, 0))
def test_thousands_of_points(kind: str) -> None:
    x, y = kinds_of_points(5000, 11)[kind]
    y = np.where(np.arange(5000) % 3 == 0, x, y)
    found = kernels.rank_correlations(x[np.newaxis], y[np.newaxis], None, False, 1)
    np.testing.assert_array_equal(found, [array_coefficients(x, y)])
    signed = np.where(np.arange(5000) % 2 == 0, x, -x), np.where(np.arange(5000) % 2 == 0, y, -y)
    mirrored = kernels.rank_correlations(signed[0][np.newaxis], signed[1][np.newaxis], None, True, 1)
    both = [np.concatenate([values, -values]) for values in signed]
    np.testing.assert_array_equal(mirrored, [array_coefficients(*both)])


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("largest", [1, 1000, 2**20, 2**26])
def test_sums_beyond_64_bits(mirrored: bool, largest: int) -> None:
    rng = np.random.default_rng(largest)
    x, y = rng.integers(-6, 6, (2, 1, 16)).astype(np.float64)
    counts = rng.integers(0, largest, (1, 16), endpoint=True)
    found = kernels.rank_correlations(x, y, counts, mirrored, 1)
    np.testing.assert_allclose(found, [expected(x, y, counts, mirrored=mirrored)], rtol=4e-16)


@settings(deadline=None)
@given(points=sets(), mirrored=st.booleans(), data=st.data())
def test_the_order_of_points_changes_no_bit(
    points: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64] | None],
    mirrored: bool,
    data: st.DataObject,
) -> None:
    order = data.draw(st.permutations(range(points[0].shape[1])))
    x, y, counts = points
    moved = [np.ascontiguousarray(array[:, np.array(order, dtype=int)]) for array in (x, y)]
    moved_counts = None if counts is None else np.ascontiguousarray(counts[:, np.array(order, dtype=int)])
    np.testing.assert_array_equal(
        kernels.rank_correlations(moved[0], moved[1], moved_counts, mirrored, 1),
        kernels.rank_correlations(x, y, counts, mirrored, 1),
    )


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("shared", ["", "x", "y", "counts", "xy"])
def test_rows_alone_together_and_in_threads(mirrored: bool, shared: str) -> None:
    rng = np.random.default_rng(5)
    sets, points = 203, 60
    x, y = (rng.integers(-9, 9, (1 if name in shared else sets, points)).astype(np.float64) for name in "xy")
    counts = rng.integers(0, 3, (1 if shared == "counts" else sets, points))
    alone = []
    for row in range(sets):
        a, b, often = (array[min(row, len(array) - 1)][np.newaxis] for array in (x, y, counts))
        alone.append(kernels.rank_correlations(a, b, often.astype(np.int64), mirrored, 1)[0])
    for threads in (1, 2, 7):
        np.testing.assert_array_equal(kernels.rank_correlations(x, y, counts, mirrored, threads), alone)


def test_wrong_arguments() -> None:
    ones = np.ones((2, 3))
    with pytest.raises(ValueError, match="differ in shape"):
        kernels.rank_correlations(ones, np.ones((2, 4)), None, False, 1)
    with pytest.raises(ValueError, match="differ in shape"):
        kernels.rank_correlations(ones, np.ones((3, 3)), None, False, 1)
    with pytest.raises(ValueError, match="differ in shape"):
        kernels.rank_correlations(np.ones((0, 3)), np.ones((0, 3)), None, False, 1)
    with pytest.raises(ValueError, match="must not be negative"):
        kernels.rank_correlations(ones, ones, np.array([[1, 1, -1]]), False, 1)
    with pytest.raises(ValueError, match="more than 2\\^30"):
        kernels.rank_correlations(ones, ones, np.array([[2**29, 2**29, 1]]), False, 1)
    with pytest.raises(TypeError):
        kernels.rank_correlations(ones.astype(np.float32), ones, None, False, 1)
