"""Tokenizers: sacreBLEU's by name, ``chat``, ``words``, or any callable.

>>> from trubleu.text import tokenizer
>>> tokenizer("chat").tokens("Great game @ana!!! :-) 10:30?")
['Great', 'game', '@ana', '!!!', ':-)', '10:30', '?']
"""

from __future__ import annotations

from trubleu.text.tokenizers import Tokenizer, names, tokenizer

__all__ = ["Tokenizer", "names", "tokenizer"]
