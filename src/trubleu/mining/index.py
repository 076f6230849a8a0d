"""An index of triples on disk: memory-mapped, fast to open at any size, extensible without rebuilding."""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trubleu.errors import UsageError, counted
from trubleu.files.paths import is_remote
from trubleu.mining.bm25 import Bm25
from trubleu.mining.candidates import ALPHA, EPSILON, TOP, Candidates, Explainer, mine, mined_candidates, seed_source
from trubleu.mining.index_builder import check_there, write_index
from trubleu.mining.manifest import Manifest, checked_options, fingerprint
from trubleu.mining.search import Ranking, ShardsOnDemand, find
from trubleu.mining.shard import MOST_TRIPLES, Shard, combined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trubleu.execution import Engine
    from trubleu.execution.cache import Cache
    from trubleu.files.paths import PathLike
    from trubleu.mining.candidates import Candidate
    from trubleu.mining.index_builder import Corpus
    from trubleu.progress import Progress


@dataclass(frozen=True, slots=True, repr=False)
class Index:
    r"""A searchable corpus of triples: a folder of memory-mapped shards.

    Create one with `Index.build` or `Index.open`.

    Attributes
    ----------
    place
        The folder: a path, or an address such as ``s3://bucket/chat.index``.
    manifest
        What belongs to it.
    shards
        Its parts, in the order of the corpus; those at an address are fetched when they are first used. Of very many,
        only some are open at a time.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.data import Triple
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "chat.index"
    >>> index = Index.build(folder, [Triple("1", (), "how are you ?", "fine"), Triple("2", (), "who is it ?", "me")])
    >>> len(index), index.triple(1)
    (2, ('2', 'who is it ?', 'me'))
    >>> index = index.add([Triple("3", (), "where are you ?", "here")])
    >>> len(Index.open(folder))
    3
    """

    place: str
    manifest: Manifest
    shards: Sequence[Shard]

    @classmethod
    def build(
        cls,
        path: PathLike,
        corpus: Corpus,
        *,
        tokenize: str = "13a",
        lowercase: bool = True,
        stop_words: Iterable[str] = (),
        shard_triples: int = MOST_TRIPLES,
        columns: str | Sequence[str] | None = None,
        skip_bad: bool = False,
        resume: bool = False,
        cache: Cache | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """Index a corpus of any size in little memory.

        Parameters
        ----------
        path
            A folder that does not exist yet, or is empty; or an address such as ``s3://bucket/chat.index``.
        corpus
            Files or folders of triples (see `trubleu.data.TripleFiles`), or triples, of which only a few are held at
            the same time.
        tokenize
            The name of a tokenizer.
        lowercase
            Whether case is ignored.
        stop_words
            Words that are neither indexed nor searched for.
        shard_triples
            How many triples a file of the index holds at most, up to 1,048,576. It changes no result.
        columns
            What the columns of tab-separated files hold.
        skip_bad
            Whether rows that cannot be used are counted instead of an error, and damaged files left out with a warning.
        resume
            Continue a build that was interrupted: finished shards of the same rows and options are used.
        cache
            With which key finished shards are sealed, and whether those that are there are used.
        engine
            Where the work is done, this process if left out; see [`engine`][trubleu.execution.engine]. Workers must
            find the files and the index under the same paths. The index does not depend on it, byte for byte.
        progress
            Told how much more has been read: bytes of files, otherwise triples.

        Returns
        -------
        Index
            The index, open.

        Raises
        ------
        UsageError
            If an option is wrong, the folder holds something, or there is nothing to be continued.
        DataError
            If the corpus has no triples, or a row cannot be used.
        EngineError
            If the engine's workers fail, or the disk is full.

        Warns
        -----
        CountedWarning
            If rows were left out: those with a blank message or response, and with ``skip_bad`` those that could not
            be used.
        TrubleuWarning
            If the tokenizer does not split the script of many messages, such as Chinese.
        """
        options = checked_options(tokenize, lowercase, stop_words, shard_triples)
        how: Any = {"columns": columns, "skip_bad": skip_bad, "resume": resume}
        write_index(_folder(path), corpus, options, cache=cache, engine=engine, progress=progress, **how)
        return cls.open(path)

    @classmethod
    def open(cls, path: PathLike) -> Index:
        """Open an index. Only headers are read; checksums are verified on first use.

        Raises
        ------
        DataError
            If there is no finished index, or a part of it is missing, damaged, another one or of another version.
        """
        folder = _folder(path)
        check_there(folder)
        manifest = Manifest.read(folder)
        shards = ShardsOnDemand(folder, manifest.shards)
        if not is_remote(folder):
            for _ in shards:  # reads their headers
                pass
        return cls(folder, manifest, shards)

    def add(
        self,
        corpus: Corpus,
        *,
        columns: str | Sequence[str] | None = None,
        skip_bad: bool = False,
        resume: bool = False,
        cache: Cache | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """Add triples to the index; existing shards stay unchanged, and processes that have it open see no change.

        Parameters
        ----------
        corpus, columns, skip_bad, resume, cache, engine, progress
            As for `Index.build`.

        Returns
        -------
        Index
            The index with what was added.

        Raises
        ------
        UsageError
            If an earlier addition was not finished, or there is none to be continued.
        DataError
            If the corpus has no triples, a row cannot be used, or somebody else is adding.
        EngineError
            If the engine's workers fail, or the disk is full.

        Warns
        -----
        CountedWarning
            If rows were left out.
        """
        how: Any = {"columns": columns, "skip_bad": skip_bad, "resume": resume}
        write_index(self.place, corpus, cache=cache, engine=engine, progress=progress, **how)
        return Index.open(self.place)

    def __len__(self) -> int:
        return self.manifest.triples

    def __repr__(self) -> str:
        return f"<Index {self.place}: {counted(len(self), 'triple')} in {counted(len(self.shards), 'shard')}>"

    @property
    def path(self) -> Path:
        """The folder, if it is local; see ``place``."""
        return Path(self.place)

    @property
    def tokenize(self) -> str:
        """The tokenizer's name."""
        return self.manifest.options.tokenize

    @property
    def lowercase(self) -> bool:
        """Whether case is ignored."""
        return self.manifest.options.lowercase

    @property
    def stop_words(self) -> tuple[str, ...]:
        """Words that are neither indexed nor searched for, sorted."""
        return self.manifest.options.stop_words

    @property
    def message_words(self) -> int:
        """Total number of words in all messages."""
        return sum(shard.message_words for shard in self.manifest.shards)

    @property
    def response_words(self) -> int:
        """Total number of words in all responses."""
        return sum(shard.response_words for shard in self.manifest.shards)

    @property
    def content(self) -> str:
        """Sixteen hexadecimal digits that identify the triples and their order, independent of shard boundaries."""
        return combined(shard.info for shard in self.manifest.shards)

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Properties that results depend on, for their signature."""
        return (
            ("tok", self.manifest.options.tokenizer),
            ("case", "lc" if self.lowercase else "mixed"),
            ("stop", fingerprint(self.stop_words)),
            ("triples", str(len(self))),
            ("corpus", self.content),
        )

    def triple(self, row: int) -> tuple[str, str, str]:
        """Return the id, message and response of a triple.

        Parameters
        ----------
        row
            Its place in the corpus, from 0.

        Raises
        ------
        UsageError
            If there is no such row.
        """
        if not 0 <= row < len(self):
            raise UsageError(f"there is no row {row}; the index has {counted(len(self), 'triple')}, from row 0")
        begins = [0, *accumulate(shard.triples for shard in self.manifest.shards)]
        number = bisect_right(begins, row) - 1
        return self.shards[number].triple(row - begins[number])

    def check(self, progress: Progress | None = None) -> None:
        """Verify the checksums of the whole index.

        Parameters
        ----------
        progress
            Told of every shard that is in order.

        Raises
        ------
        DataError
            If one does not fit, which is named.
        """
        for shard in self.shards:
            shard.check()
            if progress:
                progress(1)

    def candidates(
        self,
        seeds: Corpus,
        *,
        top: int = TOP,
        alpha: float = ALPHA,
        epsilon: float = EPSILON,
        variant: str = "lucene",
        k1: float = 1.2,
        b: float = 0.75,
        random: int = 0,
        seed: int = 1,
        explain: bool = False,
        threads: int | None = None,
        columns: str | None = None,
        skip_bad: bool = False,
        engine: Engine | None = None,
        keep: PathLike | None = None,
        cache: Cache | None = None,
        progress: Progress | None = None,
    ) -> Candidates:
        """Mine candidate references: for each seed the best matching responses, its own response, and its message.

        A triple of the corpus scores d(m̃, m) · (α · d(r̃, r) + (1 − α) · ε), where d is BM25 between its message or
        response and the seed's. Responses that equal the seed's, or a better candidate's, ignoring case and white
        space, are left out.

        Parameters
        ----------
        seeds
            Files or folders of triples, or triples, each with an id of its own.
        top
            How many to mine for each seed.
        alpha
            α: how much the response counts, from 0 to 1.
        epsilon
            ε: what keeps candidates whose response shares no word with the seed's; 0 drops them.
        variant, k1, b
            Of BM25 (see `Bm25`).
        random
            How many random responses of the corpus to add to each seed.
        seed
            Of the random responses. Those of a seed depend on this number and on the place of the seed only.
        explain
            Whether candidates say which words matched, and what each contributed.
        threads
            How many threads to use; all cores if left out. Results do not depend on it.
        columns, skip_bad
            For files of seeds, as for `Index.build`.
        engine
            Where to search, with as many threads as the engine has for each part; see
            [`engine`][trubleu.execution.engine]. Workers must find the index under the same path. Results do not depend
            on it, bit for bit.
        keep
            A folder in which the results of parts are kept, and found again if the same search was interrupted.
        cache
            How it is kept: with which key, and whether what is there is used.
        progress
            Told how many more searches are done: as many as there are seeds, for every shard.

        Raises
        ------
        UsageError
            If an option is out of its range.
        DataError
            If a seed cannot be used, two have the same id, there are none, or the index is damaged.
        EngineError
            If the engine's workers fail.

        Warns
        -----
        TrubleuWarning
            If nothing was mined for a seed because no word of its message is known, with its id; if there are fewer
            candidates than were asked for; if seeds were left out.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from trubleu.data import Triple
        >>> corpus = [Triple("1", (), "how was the match", "we won the cup"), Triple("2", (), "how was it", "what fun")]
        >>> index = Index.build(pathlib.Path(tempfile.mkdtemp()) / "chat.index", corpus)
        >>> (found,) = index.candidates([Triple("s", (), "how was the party", "it was fun")], top=2)
        >>> [(each.origin, each.text) for each in found.candidates]
        [('seed', 'it was fun'), ('mined', 'what fun'), ('mined', 'we won the cup'), ('parrot', 'how was the party')]
        """
        ranking = Ranking(top, alpha, epsilon, Bm25(variant, k1, b))
        where: Any = {"engine": engine, "keep": keep, "cache": cache, "threads": threads, "progress": progress}
        source = seed_source(seeds, columns=columns, skip_bad=skip_bad)
        return mine(self, source, ranking, random=random, seed=seed, explain=explain, **where)

    def search(
        self,
        message: str,
        response: str | None = None,
        *,
        top: int = TOP,
        alpha: float = ALPHA,
        epsilon: float = EPSILON,
        variant: str = "lucene",
        k1: float = 1.2,
        b: float = 0.75,
        explain: bool = False,
        threads: int | None = None,
    ) -> tuple[Candidate, ...]:
        """Return the candidates that would be mined for a message and a response, best first.

        Parameters
        ----------
        message
            What was said.
        response
            What was answered. If left out, candidates are ranked by their messages alone: the score is d(m̃, m), and
            ``alpha`` and ``epsilon`` play no part.
        top, alpha, epsilon, variant, k1, b, explain, threads
            As for `candidates`.

        Raises
        ------
        UsageError
            If an option is out of its range.
        DataError
            If the index is damaged.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from trubleu.data import Triple
        >>> corpus = [Triple("1", (), "how was the match", "we won the cup"), Triple("2", (), "how was it", "what fun")]
        >>> index = Index.build(pathlib.Path(tempfile.mkdtemp()) / "chat.index", corpus)
        >>> (best,) = index.search("the match", "a cup", explain=True)
        >>> best.source, best.words.response[0][0]
        ('1', 'cup')
        """
        ranking = Ranking(top, alpha, epsilon, Bm25(variant, k1, b))
        if response is None:
            # With α = 0 and ε = 1 the second factor is 1, so the score is that of the message alone.
            ranking = Ranking(top, 0.0, 1.0, ranking.bm25)
        (found,), frequencies = find(self, [message], [response], ranking, threads=threads)
        explainer = Explainer(self, ranking.bm25, frequencies) if explain else None
        return mined_candidates(found, message, response, explainer)


def _folder(path: PathLike) -> str:
    return os.fspath(path) if is_remote(path) else str(Path(path))
