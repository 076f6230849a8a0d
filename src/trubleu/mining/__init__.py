"""Mining: find candidate references, the responses of other people, in a corpus of conversations."""

from __future__ import annotations

from trubleu.mining.bm25 import Bm25
from trubleu.mining.candidates import Candidate, Candidates, MatchedWords, SeedCandidates
from trubleu.mining.index import Index

__all__ = ["Bm25", "Candidate", "Candidates", "Index", "MatchedWords", "SeedCandidates"]
