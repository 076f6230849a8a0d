"""Explanations of scores: which parts of an output matched which reference, with what weight and effect.

>>> import trubleu
>>> from trubleu.explain import explain
>>> references = trubleu.References.from_lists([["it was great", "it was awful"]], [[1.0, -0.5]])
>>> explain(trubleu.metric("dbleu-1"), "it was awful", references).orders[0].numerator
1.5
"""

from trubleu._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)  # the names of __init__.pyi
