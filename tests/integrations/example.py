"""Three segments, their references with weights, and what TruBLEU says of them without any other package."""

from __future__ import annotations

from typing import Any

import trubleu

OUTPUTS = ["the food was great", "i do not know", "see you at eight"]
REFERENCES = [
    ["the food was great", "the food was awful"],
    ["ask the waiter", "i do not know", "i do not know him"],
    ["see you at eight then"],
]
WEIGHTS = [[1.0, -0.8], [0.9, -0.2, 0.3], [0.5]]
MESSAGES = ["how was the food", "who do i ask", "when do we meet"]


def scored(metric: str, weights: Any = WEIGHTS, **options: Any) -> trubleu.Result:
    """Return what TruBLEU itself says of the example."""
    references = trubleu.References.from_lists(REFERENCES, weights).with_messages(MESSAGES)
    return trubleu.metric(metric, **options).corpus(OUTPUTS, references)
