"""Two texts with the words that differ marked."""

from __future__ import annotations

from difflib import SequenceMatcher


def marked_pair(a: str, b: str) -> tuple[str, str]:
    """Return two texts with the words missing from the other one in brackets.

    Examples
    --------
    >>> marked_pair("it was so great", "it was awful")
    ('it was [so great]', 'it was [awful]')
    """
    words = a.split(), b.split()
    marked: tuple[list[str], list[str]] = ([], [])
    for kind, *bounds in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, (start, end) in enumerate((bounds[:2], bounds[2:])):
            piece = " ".join(words[side][start:end])
            if piece:
                marked[side].append(piece if kind == "equal" else f"[{piece}]")
    return " ".join(marked[0]), " ".join(marked[1])
