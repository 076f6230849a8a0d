"""Explanations as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from trubleu.report.tables import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.explain.explanation import Explanation


def render_json(explanations: Mapping[str, Sequence[Explanation]]) -> str:
    """Return one object with a list of explanations, those of one segment next to each other.

    Parameters
    ----------
    explanations
        For each system the same segments in the same order.

    Examples
    --------
    >>> import json, trubleu
    >>> from trubleu.explain import explain
    >>> found = explain(trubleu.metric("bleu-1"), "it was", [["it is"]])
    >>> row = json.loads(render_json({"A": [found]}))["explanations"][0]
    >>> row["system"], row["score"], row["orders"][0]["ngrams"][0]["matches"]
    ('A', 50.0, [{'reference': 1, 'count': 1, 'clipped': 1, 'weight': 1.0}])
    """
    rows = [
        {"schema": SCHEMA, "system": system, **explanation.to_dict()}
        for several in zip(*explanations.values(), strict=True)
        for system, explanation in zip(explanations, several, strict=True)
    ]
    return json.dumps({"schema": SCHEMA, "explanations": rows}, ensure_ascii=False, indent=1) + "\n"
