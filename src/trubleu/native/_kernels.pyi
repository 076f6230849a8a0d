from typing import final

import numpy as np
from numpy.typing import NDArray

sources: str

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

@final
class SoftScale:
    def __init__(self, similarity: str, shift: float, unknown: float, rule: str, release: bool) -> None: ...

def row_squares(vectors: NDArray[np.float32]) -> NDArray[np.float32]: ...

@final
class TrubleuOptions:
    def __init__(self, order: int, beta: float, shift: float, characters: bool, lowercase: bool) -> None: ...

@final
class WordTexts:
    def __init__(
        self,
        lines: tuple[str, ...],
        options: Options,
        first: int,
        last: int,
        others: WordTexts | None = None,
        threads: int = 1,
    ) -> None: ...
    def words(self) -> list[str]: ...
    def numbers(self) -> NDArray[np.uint32]: ...
    def lengths(self) -> NDArray[np.int64]: ...
    @property
    def memory(self) -> int: ...

@final
class ReferenceWords:
    def __init__(self, texts: WordTexts, offsets: NDArray[np.int64]) -> None: ...
    @property
    def memory(self) -> int: ...

@final
class TrubleuSegments:
    def __init__(self, lines: tuple[str, ...], references: ReferenceWords, options: Options, first: int) -> None: ...
    def new_words(self) -> list[str]: ...
    def scores(
        self,
        vectors: NDArray[np.float32],
        squares: NDArray[np.float32],
        rows: NDArray[np.uint32],
        importance: NDArray[np.float64] | None,
        texts: tuple[str, ...],
        characters: ChrfReferences | None,
        weights: NDArray[np.float64] | None,
        options: TrubleuOptions,
        threads: int,
    ) -> NDArray[np.float64]: ...
    def similarities(
        self,
        vectors: NDArray[np.float32],
        squares: NDArray[np.float32],
        rows: NDArray[np.uint32],
        importance: NDArray[np.float64] | None,
        texts: tuple[str, ...],
        characters: ChrfReferences | None,
        options: TrubleuOptions,
        threads: int,
    ) -> NDArray[np.float64]: ...
    def details(
        self,
        vectors: NDArray[np.float32],
        squares: NDArray[np.float32],
        rows: NDArray[np.uint32],
        importance: NDArray[np.float64] | None,
        texts: tuple[str, ...],
        characters: ChrfReferences | None,
        weights: NDArray[np.float64] | None,
        options: TrubleuOptions,
        segment: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64], float, float, NDArray[np.float64]]: ...

@final
class Subwords:
    def __init__(
        self,
        tokens: tuple[str, ...],
        ids: NDArray[np.uint32],
        merges: tuple[str, ...],
        unknown: int,
        stops: str,
        vectors: NDArray[np.uint16],
    ) -> None: ...
    def sums(self, words: tuple[str, ...]) -> tuple[NDArray[np.float32], NDArray[np.int64]]: ...

@final
class SoftNames:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def settle(self, rows: NDArray[np.uint32]) -> None: ...

@final
class SoftSlice:
    def __init__(
        self,
        outputs: tuple[str, ...],
        references: tuple[str, ...],
        offsets: NDArray[np.int64],
        options: Options,
        first: int,
        last: int,
    ) -> None: ...
    def words(self) -> list[str]: ...
    def segments_with(self, marked: NDArray[np.uint8]) -> NDArray[np.int64]: ...
    def new_ngrams(self, names: SoftNames, first_only: bool) -> list[str]: ...
    def rows(self, names: SoftNames) -> NDArray[np.uint32]: ...
    def unknown_words(self, rows: NDArray[np.uint32]) -> tuple[int, int]: ...
    def statistics(
        self,
        vectors: NDArray[np.float32],
        rows: NDArray[np.uint32],
        composed: bool,
        weights: NDArray[np.float64] | None,
        scale: SoftScale,
        threads: int,
    ) -> NDArray[np.float64]: ...
    def pairs(
        self,
        vectors: NDArray[np.float32],
        rows: NDArray[np.uint32],
        composed: bool,
        weights: NDArray[np.float64] | None,
        scale: SoftScale,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...

@final
class ChrfOptions:
    def __init__(
        self,
        char_order: int,
        word_order: int,
        factor: float,
        factor_plus_one: float,
        lowercase: bool,
        whitespace: bool,
        eps_smoothing: bool,
    ) -> None: ...

@final
class ChrfReferences:
    def __init__(
        self,
        references: tuple[str, ...],
        offsets: NDArray[np.int64],
        options: ChrfOptions,
        first: int,
        last: int,
        threads: int,
    ) -> None: ...
    @property
    def memory(self) -> int: ...
    def statistics(self, outputs: tuple[str, ...], options: ChrfOptions, threads: int) -> NDArray[np.float64]: ...

def supports_v3() -> bool: ...
def vector_instructions() -> str: ...
def context_similarities(
    words: NDArray[np.float32],
    begins: NDArray[np.int64],
    texts: NDArray[np.float32],
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    threads: int,
) -> NDArray[np.float64]: ...
def word_maxima(
    left: NDArray[np.float32], right: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]: ...
def rated_scores(
    similarities: NDArray[np.float64], weights: NDArray[np.float64] | None, offsets: NDArray[np.int64]
) -> NDArray[np.float64]: ...
def count_empty(texts: tuple[object, ...]) -> int | None: ...
def repeating_segments(texts: tuple[str, ...], offsets: NDArray[np.int64]) -> NDArray[np.int64]: ...
def all_strings(texts: tuple[object, ...]) -> bool: ...
def flatten(rows: object) -> tuple[tuple[str, ...], NDArray[np.int64]] | None: ...
def ascii_words(texts: tuple[str, ...], lowercase: bool) -> list[str | None]: ...
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
def resample_counts(rows: int, resamples: int, first: int, seed: int) -> NDArray[np.float64]: ...
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

@final
class WordCounter:
    def __init__(self) -> None: ...
    def add(self, texts: tuple[str, ...], tokenizer: str, lowercase: bool) -> NDArray[np.uint32]: ...
    def merge(
        self, heap: NDArray[np.uint8], begins: NDArray[np.uint64], counts: NDArray[np.uint64]
    ) -> NDArray[np.uint32]: ...
    def words(self) -> tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.uint64]]: ...

@final
class PairCounter:
    def __init__(self, usable: int, least: int, most_entries: int) -> None: ...
    def add(self, numbers: NDArray[np.uint32]) -> None: ...
    def add_counted(
        self, firsts: NDArray[np.uint32], seconds: NDArray[np.uint32], counts: NDArray[np.uint32]
    ) -> None: ...
    def finish_pass(self) -> bool: ...
    def pairs(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]]: ...

@final
class PairIndex:
    def __init__(self, firsts: NDArray[np.uint32], seconds: NDArray[np.uint32]) -> None: ...
    def encode(self, numbers: NDArray[np.uint32], output: NDArray[np.uint32]) -> None: ...

def fill_first_vectors(matrix: NDArray[np.float32], dimensions: int, seed: int, stream: int) -> None: ...
def training_blocks(positions: int) -> int: ...

@final
class SkipGram:
    def __init__(
        self,
        inputs: NDArray[np.float32],
        outputs: NDArray[np.float32],
        noise: NDArray[np.float64],
        keep: NDArray[np.uint32],
        join: NDArray[np.uint32],
        dimensions: int,
        window: int,
        negative: int,
        words_out: bool,
        seed: int,
        stream: int,
    ) -> None: ...
    def train(
        self,
        levels: list[NDArray[np.uint32]],
        lengths: list[int],
        listed: list[int],
        epoch: int,
        first: int,
        last: int,
        alpha: float,
        alpha_step: float,
        threads: int,
    ) -> tuple[int, int, float]: ...
    def segment(
        self,
        levels: list[NDArray[np.uint32]],
        lengths: list[int],
        listed: list[int],
        epoch: int,
        first: int,
        last: int,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]: ...

@final
class MineBuilder:
    def __init__(self, stop_words: tuple[str, ...]) -> None: ...
    def add(
        self,
        ids: tuple[str, ...],
        messages: tuple[str, ...],
        responses: tuple[str, ...],
        message_lines: tuple[str, ...],
        response_lines: tuple[str, ...],
        tokenizer: str,
        lowercase: bool,
    ) -> None: ...
    def finish(self) -> dict[str, NDArray[np.generic]]: ...
    @property
    def rows(self) -> int: ...
    @property
    def message_words(self) -> int: ...
    @property
    def response_words(self) -> int: ...
    @property
    def content(self) -> int: ...
    @property
    def memory(self) -> int: ...

@final
class MineShard:
    def __init__(self, arrays: dict[str, NDArray[np.generic]], rows: int) -> None: ...
    def numbers(self, words: tuple[str, ...]) -> NDArray[np.uint32]: ...
    def frequencies(self, field: int, numbers: NDArray[np.uint32]) -> NDArray[np.int64]: ...
    def bag(self, field: int, row: int) -> NDArray[np.uint32]: ...
    def word(self, number: int) -> str: ...
    def forget(self) -> None: ...

@final
class MineSearch:
    def __init__(self, responses: tuple[str | None, ...], scoring: NDArray[np.float64], top: int) -> None: ...
    def set_words(
        self, field: int, begins: NDArray[np.uint64], words: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> None: ...
    def set_floors(self, floors: NDArray[np.float64]) -> None: ...
    def run(
        self, shard: MineShard, numbers: NDArray[np.uint32], first_row: int, first: int, last: int, threads: int
    ) -> None: ...
    def hits(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...

class NgramCounts:
    def __init__(self, orders: int, segments: bool) -> None: ...
    @property
    def orders(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def segments(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def memory(self) -> int: ...
    def add(
        self, texts: WordTexts, offsets: NDArray[np.int64], stems: tuple[str, ...] | None, drop_rare: bool, threads: int
    ) -> None: ...
    def merge(
        self,
        heap: NDArray[np.uint8],
        begins: NDArray[np.uint64],
        word_counts: NDArray[np.uint32],
        edges: list[NDArray[np.uint64]],
        edge_counts: list[NDArray[np.uint32]],
        tokens: int,
        segments: int,
        least: int,
    ) -> None: ...
    def arrays(
        self,
    ) -> tuple[
        NDArray[np.uint8], NDArray[np.uint64], NDArray[np.uint32], list[NDArray[np.uint64]], list[NDArray[np.uint32]]
    ]: ...
    def counts_of(self, words: tuple[str, ...]) -> NDArray[np.int64]: ...

def nist(
    counts: NgramCounts,
    outputs: WordTexts,
    references: WordTexts,
    offsets: NDArray[np.int64],
    stems: tuple[str, ...] | None,
    first: int,
    order: int,
    threads: int,
) -> NDArray[np.float64]: ...
def cider_norms(
    counts: NgramCounts,
    references: WordTexts,
    offsets: NDArray[np.int64],
    stems: tuple[str, ...] | None,
    order: int,
    threads: int,
) -> NDArray[np.float64]: ...
def cider(
    counts: NgramCounts,
    outputs: WordTexts,
    references: WordTexts,
    offsets: NDArray[np.int64],
    stems: tuple[str, ...] | None,
    first: int,
    norms: NDArray[np.float64],
    sigma: float,
    threads: int,
) -> NDArray[np.float64]: ...
def distinct_ngrams(texts: WordTexts, order: int) -> NDArray[np.float64]: ...
def self_matches(texts: WordTexts, order: int) -> NDArray[np.float64]: ...
def rouge_scores(
    outputs: tuple[str, ...],
    references: tuple[str, ...],
    offsets: NDArray[np.int64],
    kind: str,
    order: int,
    stem: bool,
    first: int,
    last: int,
    threads: int,
) -> NDArray[np.float64]: ...
def lebleu_statistics(
    outputs: tuple[str, ...],
    references: tuple[str, ...],
    offsets: NDArray[np.int64],
    options: Options,
    threshold: float,
    first: int,
    last: int,
    threads: int,
) -> NDArray[np.float64]: ...
def ter_edits(
    outputs: WordTexts,
    references: WordTexts,
    offsets: NDArray[np.int64],
    first: int,
    last: int,
    threads: int,
) -> NDArray[np.float64]: ...
def meteor_align(
    words: NDArray[np.uint32],
    reference: NDArray[np.uint32],
    stems: NDArray[np.uint32] | None = None,
    meaning_begins: NDArray[np.uint64] | None = None,
    meanings: NDArray[np.uint32] | None = None,
    narrow: int = 16,
    wide: int = 2000,
    few: int = 12,
    steps: int = 300_000,
) -> tuple[int, int, int, int, int]: ...

@final
class MeteorTexts:
    def __init__(
        self,
        outputs: WordTexts,
        references: WordTexts,
        offsets: NDArray[np.int64],
        stems: tuple[str, ...] | None,
        meaning_begins: NDArray[np.uint64] | None,
        meanings: NDArray[np.uint32] | None,
    ) -> None: ...
    def rows(self, first: int, last: int, threads: int) -> NDArray[np.float64]: ...
