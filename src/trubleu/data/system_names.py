"""The same system under two names: that of an output file and that in somebody else's judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.data.weights import shown
from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_ENDINGS = (".txt", ".sgm")


def match_systems(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Find out which system is meant by each name.

    Names that are equal go together first; then, among what is left, those that are equal without a ``.txt`` or
    ``.sgm`` at the end; then those of which one is the other up to a dot, as ``newstest2015.online-B.0`` is of
    ``newstest2015.online-B.0.de-en.txt``.

    Parameters
    ----------
    names
        As somebody else writes them, for example in rankings.
    known
        The systems that there are.

    Returns
    -------
    dict
        The known name for each of ``names`` that has one, in their order; the others are left out.

    Raises
    ------
    DataError
        If a name could mean two systems, or two names the same.

    Examples
    --------
    >>> match_systems(["wmt.A.1.de-en.txt", "wmt.B.2.de-en.txt", "wmt.C.3.de-en.txt"], ["wmt.A.1", "wmt.B.2.de-en"])
    {'wmt.A.1.de-en.txt': 'wmt.A.1', 'wmt.B.2.de-en.txt': 'wmt.B.2.de-en'}
    """
    names = list(dict.fromkeys(names))
    unused = dict.fromkeys(known)
    found: dict[str, str] = {}
    for fits in (_equal, _equal_stems, _up_to_a_dot):
        matches = _matches([name for name in names if name not in found], list(unused), fits)
        found |= matches
        for system in matches.values():
            del unused[system]
    return {name: found[name] for name in names if name in found}


def _matches(names: list[str], known: list[str], fits: Callable[[str, str], bool]) -> dict[str, str]:
    found: dict[str, str] = {}
    owner: dict[str, str] = {}
    for name in names:
        candidates = [system for system in known if fits(name, system)]
        if len(candidates) > 1:
            raise DataError(
                f"the system {shown(name)} could be {candidates[0]} or {candidates[1]}; "
                "name the outputs as it is named there, NAME=PATH"
            )
        for system in candidates:
            if system in owner:
                raise DataError(
                    f"the system {system} could be {owner[system]} or {name}; "
                    "name the outputs as they are named there, NAME=PATH"
                )
            owner[system] = name
            found[name] = system
    return found


def _stem(name: str) -> str:
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)


def _equal(name: str, system: str) -> bool:
    return name == system


def _equal_stems(name: str, system: str) -> bool:
    return _stem(name) == _stem(system)


def _up_to_a_dot(name: str, system: str) -> bool:
    name, system = _stem(name), _stem(system)
    return name.startswith(f"{system}.") or system.startswith(f"{name}.")
