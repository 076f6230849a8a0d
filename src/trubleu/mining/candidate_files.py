"""Candidates as files of references that are not rated yet, and as frames."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from trubleu.data.reference_files import check_storable
from trubleu.files.jsonl import json_line
from trubleu.files.parquet import write_parquet
from trubleu.files.paths import format_to_write
from trubleu.files.writer import atomic_writer
from trubleu.optional_deps import polars_module

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from trubleu.data.triples import Triple
    from trubleu.files.paths import PathLike
    from trubleu.mining.candidates import Candidate, Candidates, SeedCandidates

_HEX_DIGITS: Final = 12


def reference_ids(candidates: Sequence[Candidate]) -> list[str]:
    """Return an id for each candidate of a seed: the beginning of a checksum of its text.

    A text keeps its id however often candidates are mined, whichever rank or origin it gets, so that what people said
    of it can be joined to it again.

    Examples
    --------
    >>> from trubleu.mining.candidates import Candidate
    >>> reference_ids([Candidate(text="hello", origin="seed"), Candidate(text="hi", origin="mined", rank=1)])
    ['r-2cf24dba5fb0', 'r-8f434346648f']
    """
    ids: list[str] = []
    for each in candidates:
        name = "r-" + hashlib.sha256(each.text.encode("utf-8", "surrogatepass")).hexdigest()[:_HEX_DIGITS]
        # Two texts with the same beginning are next to impossible, two equal ids would be a broken file.
        again = ids.count(name)
        ids.append(f"{name}-{again + 1}" if again else name)
    return ids


def write_candidates(path: PathLike, candidates: Candidates) -> None:
    """Write candidates (see `Candidates.write`)."""
    if format_to_write(path, ["jsonl", "parquet"]) == "parquet":
        write_parquet(path, _nested_frame(candidates))
        return
    signature = str(candidates.signature)
    with atomic_writer(path) as stream:
        for each in candidates:
            stream.write(json_line(_record(each, signature)) + "\n")


def _record(found: SeedCandidates, signature: str) -> dict[str, Any]:
    """Return what a line of JSON holds."""
    items = []
    for name, each in zip(reference_ids(found.candidates), found.candidates, strict=True):
        item: dict[str, Any] = {
            "id": name,
            "text": each.text,
            "weight": None,
            "origin": each.origin,
            "source": each.source,
            "source_message": each.source_message,
            "rank": each.rank,
            "scores": _scores(each),
        }
        if each.words is not None:
            item["words"] = {"message": dict(each.words.message), "response": dict(each.words.response)}
        items.append(item)
    return {
        "id": found.seed.id,
        "context": list(found.seed.context),
        "message": found.seed.message,
        "references": items,
        "mined": found.mined,
        "wanted": found.wanted,
        "signature": signature,
    }


def _scores(candidate: Candidate) -> dict[str, float | None] | None:
    if candidate.score is None:
        return None
    return {"score": candidate.score, "message": candidate.message_score, "response": candidate.response_score}


def candidates_to_frame(candidates: Candidates) -> pl.DataFrame:
    """Make a frame with one row a candidate (see `Candidates.to_frame`)."""
    polars = polars_module()
    _check_storable(candidates)
    names = [name for each in candidates for name in reference_ids(each.candidates)]
    pairs = [(each.seed, one) for each in candidates for one in each.candidates]
    text, number = polars.String, polars.Float64
    columns = {
        "id": polars.Series([seed.id for seed, _ in pairs], dtype=text),
        "context": polars.Series([list(seed.context) for seed, _ in pairs], dtype=polars.List(text)),
        "message": polars.Series([seed.message for seed, _ in pairs], dtype=text),
        "reference": polars.Series(names, dtype=text),
        "text": polars.Series([each.text for _, each in pairs], dtype=text),
        "weight": polars.Series([None] * len(pairs), dtype=number),
        "origin": polars.Series([each.origin for _, each in pairs], dtype=text),
        "source": polars.Series([each.source for _, each in pairs], dtype=text),
        "source_message": polars.Series([each.source_message for _, each in pairs], dtype=text),
        "rank": polars.Series([each.rank for _, each in pairs], dtype=polars.Int64),
        "score": polars.Series([each.score for _, each in pairs], dtype=number),
        "message_score": polars.Series([each.message_score for _, each in pairs], dtype=number),
        "response_score": polars.Series([each.response_score for _, each in pairs], dtype=number),
    }
    if any(each.words is not None for _, each in pairs):
        kind = polars.List(polars.Struct({"word": text, "contribution": number}))
        for field in ("message", "response"):
            lists = [None if each.words is None else _word_records(getattr(each.words, field)) for _, each in pairs]
            columns[f"{field}_words"] = polars.Series(lists, dtype=kind)
    frame: pl.DataFrame = polars.DataFrame(columns)
    return frame


def _nested_frame(candidates: Candidates) -> pl.DataFrame:
    """Make a frame with one row a seed and the fields of JSON lines."""
    polars = polars_module()
    long = candidates_to_frame(candidates)
    scores = polars.struct(
        polars.col("score"), message=polars.col("message_score"), response=polars.col("response_score")
    )
    fields: list[Any] = [
        polars.col("reference").alias("id"),
        *map(polars.col, ("text", "weight", "origin", "source", "source_message", "rank")),
        polars.when(polars.col("score").is_not_null()).then(scores).alias("scores"),
    ]
    if "message_words" in long.columns:
        words = polars.struct(message=polars.col("message_words"), response=polars.col("response_words"))
        fields.append(polars.when(polars.col("message_words").is_not_null()).then(words).alias("words"))
    counts = [len(each.candidates) for each in candidates]
    owners = polars.Series([row for row, count in enumerate(counts) for _ in range(count)], dtype=polars.Int64)
    # Every seed has a candidate, its own response, so grouping gives a row for each of them, in their order.
    items = long.select(polars.struct(fields).alias("references"), owners.alias("owner"))
    references = items.group_by("owner", maintain_order=True).agg("references").get_column("references")
    heads = {
        "id": polars.Series([each.seed.id for each in candidates], dtype=polars.String),
        "context": polars.Series([list(each.seed.context) for each in candidates], dtype=polars.List(polars.String)),
        "message": polars.Series([each.seed.message for each in candidates], dtype=polars.String),
        "references": references,
        "mined": polars.Series([each.mined for each in candidates], dtype=polars.Int64),
        "wanted": polars.Series([each.wanted for each in candidates], dtype=polars.Int64),
        "signature": polars.Series([str(candidates.signature)] * len(candidates), dtype=polars.String),
    }
    frame: pl.DataFrame = polars.DataFrame(heads)
    return frame


def _word_records(words: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{"word": word, "contribution": contribution} for word, contribution in words]


def check_seeds_storable(seeds: Sequence[Triple]) -> None:
    """Refuse seeds that neither a frame nor a Parquet file can hold.

    Raises
    ------
    DataError
        If a text contains half of a surrogate pair.
    """
    check_storable((each.id for each in seeds), "id")
    check_storable((each.message for each in seeds), "message")
    check_storable((turn for each in seeds for turn in each.context), "turn")
    check_storable((each.response for each in seeds), "response")


def _check_storable(candidates: Candidates) -> None:
    check_seeds_storable([each.seed for each in candidates])
    check_storable((one.text for each in candidates for one in each.candidates), "candidate")
    check_storable((one.source for each in candidates for one in each.candidates), "source")
    check_storable((one.source_message for each in candidates for one in each.candidates), "source message")
