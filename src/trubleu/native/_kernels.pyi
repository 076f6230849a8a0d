from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Options:
    def __init__(
        self,
        tokenizer: str,
        lowercase: bool,
        order: int,
        credit: str,
        reference_length: str,
        positive_lengths: bool,
    ) -> None: ...
    @property
    def columns(self) -> int: ...

@final
class PreparedBuilder:
    def __init__(self, options: Options) -> None: ...
    def add(self, references: tuple[str, ...], offsets: NDArray[np.int64], first: int, last: int) -> None: ...
    def finish(self) -> dict[str, NDArray[np.generic]]: ...

@final
class Prepared:
    def __init__(self, arrays: dict[str, NDArray[np.generic]]) -> None: ...
    @property
    def arrays(self) -> dict[str, NDArray[np.generic]]: ...
    @property
    def segments(self) -> int: ...
    def problem(self) -> str | None: ...
    def statistics(
        self,
        outputs: tuple[str, ...],
        weights: NDArray[np.float64] | None,
        options: Options,
        first: int,
        last: int,
        threads: int,
    ) -> NDArray[np.float64]: ...

def supports_v3() -> bool: ...
def count_empty(texts: tuple[object, ...]) -> int | None: ...
def repeating_segments(texts: tuple[str, ...], offsets: NDArray[np.int64]) -> NDArray[np.int64]: ...
def all_strings(texts: tuple[object, ...]) -> bool: ...
def flatten(rows: object) -> tuple[tuple[str, ...], NDArray[np.int64]] | None: ...
def tokens(text: str, tokenizer: str, lowercase: bool) -> list[str]: ...
def checksum(data: NDArray[np.uint8]) -> int: ...
def pack_texts(texts: tuple[str, ...]) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]: ...
def unpack_texts(heap: NDArray[np.uint8], begins: NDArray[np.uint64]) -> tuple[str, ...]: ...
def statistics(
    outputs: tuple[str, ...],
    references: tuple[str, ...],
    offsets: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    options: Options,
    first: int,
    last: int,
    threads: int,
) -> NDArray[np.float64]: ...
def resample_sums(
    statistics: NDArray[np.float64], resamples: int, first: int, seed: int, threads: int
) -> NDArray[np.float64]: ...
def permute_sums(
    difference: NDArray[np.float64], trials: int, first: int, seed: int, threads: int
) -> NDArray[np.float64]: ...
def rank_correlations(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    counts: NDArray[np.int64] | None,
    mirrored: bool,
    threads: int,
) -> NDArray[np.float64]: ...
def unit_sums(
    rows: NDArray[np.float64],
    items: NDArray[np.int64] | None,
    universe: int,
    unit: int,
    partial: bool,
    seed: int,
    stream: int,
    first: int,
    count: int,
    threads: int,
) -> NDArray[np.float64]: ...
