r"""``chat``: a tokenizer for tweets, posts and chat messages.

One regular expression finds every token; `ALTERNATIVES` lists the kinds of tokens, and the first match wins. The last
alternative is any character, so only white space is dropped: the tokens of a text, concatenated, are the text without
its white space.

Running time is linear for any text. Each quantifier is possessive, or bounded, or followed by nothing that could fail;
and an alternative that can fail after a long match cannot start again within that match. Tests check this with
adversarial inputs.

Letters are those of every script, as in ``\w``, and a run of letters is a word. So scripts without spaces between words
(Chinese, Japanese, Thai) give long tokens; ``words``, ``zh``, ``ja-mecab`` or ``char`` suit them better.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import chain, groupby

SIGNATURE = "chat"
"""Name in signatures; it changes whenever tokens change."""


def _marks() -> str:
    """Return all combining marks as the body of a character class."""
    # Combining marks are in planes 0 and 1, except the variation selectors of plane 14; scanning all planes takes ten
    # times as long. Consecutive code points have the same distance to their rank, which groups them into ranges.
    codes = chain(range(0x300, 0x20000), range(0xE0100, 0xE01F0))
    marks = (code for code in codes if unicodedata.category(chr(code)).startswith("M"))
    runs = ([code for _, code in run] for _, run in groupby(enumerate(marks), lambda pair: pair[1] - pair[0]))
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


def _repeated(chars: str, least: int = 2) -> str:
    """Match one of the characters, repeated at least ``least`` times."""
    return "|".join(f"{re.escape(char)}{{{least},}}+" for char in chars)


# Words. ``re`` has no class for combining marks and ``\w`` leaves them out. The two zero-width joiners are included:
# they shape letters inside Persian or Hindi words. The look-ahead spares most words the long class.
_MARKS = _marks()
_JOINING = rf"{_MARKS}\u200c\u200d"
_RUN = rf"\w++(?:(?=[\u0300-\U0010ffff])[{_JOINING}]++\w*+)*+"
_INNER = r"[-'’\u2010\u2011]|(?<=\d)[.,:/\u066b\u066c](?=\d)"
_WORD = rf"{_RUN}(?:(?:{_INNER}){_RUN})*"

# URLs and e-mail addresses. Punctuation belongs to one only if more of it follows, and parentheses only in pairs: in
# "(see https://example.org/a_(b).)" the URL is https://example.org/a_(b).
_ADDRESS = rf"\w/%#&=@~$+\-{_MARKS}"
_PATH = rf"(?:[{_ADDRESS}]++|\([{_ADDRESS}.,!?;:']*+\)|[.,!?;:']++(?=[{_ADDRESS}]))+"
_LABELS = r"(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}+\.){1,8}"
_HOST = rf"{_LABELS}[A-Za-z]{{2,24}}+(?![\w-])"
# "ok.so" or "great.news" are two sentences without a space: a domain that is a word, or a less known country's, counts
# only if a path follows, as in "youtu.be/x".
_DOMAINS = (
    "com|org|net|edu|gov|mil|info|biz|xyz|dev|io|ai|co|tv|ly|gg|fm|eu|uk|ca|au|nz|ie|za|de|ch|fr|nl|es|pt|pl|cz|sk|hu|"
    "ro|bg|gr|se|dk|ee|lt|lv|ru|ua|tr|il|cn|jp|kr|hk|tw|sg|th|vn|br|ar|mx|cl"
)
_DOMAINS_WITH_PATH = "[a-z]{2}|app|blog|cloud|club|link|live|news|online|page|shop|site|social|store|tech|wiki|world"

# Emoji. A superset of the pictographs (some ranges are not assigned yet), without the regional indicators. A cluster is
# a pictograph with its extensions (skin tone, variation selector, keycap, tags, joiner), repeated after a joiner.
_PICTOGRAPH = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa"
    "\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff\U0001fc00-\U0001fffd"
)
_EXTENDING = f"{_JOINING}\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
_FLAG_LETTER = "\U0001f1e6-\U0001f1ff"

# Emoticons. A bracket is a mouth anywhere: "thanks:)". Other mouths are ambiguous ("10:3", "C:\dir", "a:b", "via:@ana",
# "x >=3"): no letter or digit may follow, and no digit or, for most of them, letter may precede.
_EYES = r"[>}]?[:;=]['’]?[-^o~*]?"
_EMOTICONS = (
    rf"{_EYES}(?:\)++|\(++|\]++|\[++|\}}++|\{{++)",  # :-) ;) =] >:( :'( :)))
    rf"(?<!\d){_EYES}(?:D++|d|[Pp]++|/(?!/)|\\|\|)(?!\w)",  # :D ;p =/ :-|
    rf"(?<!\w)(?![>}}]?=){_EYES}[oO03sSxXcCbL*$@#&<>](?!\w)",  # :o :3 :-x :* :$
    r"[(\[][-^o*]?['’]?[:;=](?![:;=()\[\]])",  # (-: (;
    r"(?<!\S)[)Dd][-^o*]?['’]?[:=]<?(?!\S)",  # ): D: between spaces only, for "(so): yes"
    r"</?3++(?![\d%]|[.,]\d)",  # <3 </3 <333
    r"[xX8B]-[()\[\]]++",  # 8-) x-(
    r"\\[oO]/",  # \o/
    r"¯\\_*+\([ツシ]\)_*+/¯",  # ¯\_(ツ)_/¯
    r"\^[_.o-]{0,5}+\^",  # ^_^ ^^ ^.^
    "(?<!\\w)(?:" + "|".join(rf"\{eye}(?:_++|\.)\{eye}" for eye in "-*@$=~¬•") + ")(?!\\w)",  # -_- *_* @_@
    r"(?<![\w.])(?:[oO0]\.[oO0]|[tT]\.[tT]|[xX]\.[xX]|[uU]\.[uU])(?![\w.])",  # o.O T.T; with _ they are words
    r"(?<!\w)(?:>[_.]{1,5}+[<>]|<[_.]{1,5}+<|;[_-]{1,5}+;|\._++\.)(?!\w)",  # >_< <_< ;-; ._.
)

# Two closing parentheses may close two opened ones; three or more are a smile in much of Eastern Europe.
_REPEATED = f"{_repeated('-–—*~=+#$@&%,;:/|^<>。、')}|{_repeated('()', 3)}"

ALTERNATIVES: dict[str, str] = {
    # Shortcuts for nearly all tokens: a word that nothing can continue, and punctuation before white space.
    "plain word": r"\w++(?:['’-]\w++)*+(?![-.@:+%',/\u0300-\U0010ffff])",
    "plain stop": r"[.,!?](?!\S)",
    "keycap": r"[0-9#*]\ufe0f?\u20e3",
    "url": rf"(?ai:https?://|ftp://|www\.){_PATH}",
    "e-mail": rf"(?<!\w\.)\w[\w.+%-]{{0,63}}+@{_HOST}",
    "host": rf"(?<!\w\.){_LABELS}(?:(?ai:{_DOMAINS})(?![\w@-])(?::\d{{2,5}}+(?!\w))?(?:/(?:{_PATH})?)?"
    rf"|(?ai:{_DOMAINS_WITH_PATH})/{_PATH})",
    "emoticon": rf"(?=[^\w\s]|[DdxX8BoO0tTuU])(?:{'|'.join(_EMOTICONS)})",
    "name or tag": rf"[@＠#＃]{_RUN}(?:@{_HOST})?",
    "emoji": rf"[{_PICTOGRAPH}][{_EXTENDING}]*+(?:(?<=\u200d)[{_PICTOGRAPH}][{_EXTENDING}]*+)*+",
    "flag": rf"[{_FLAG_LETTER}]{{1,2}}+[{_EXTENDING}]*+",
    "word or number": rf"(?:(?<![\w.])\.(?=\d))?{_WORD}",
    "repeated punctuation": rf"[!?！？]{{2,}}+|[.…]{{2,}}+|{_REPEATED}",
    "anything else": r"\S",
}
"""The kinds of tokens, in the order in which they are tried."""

# The look-ahead skips white space without trying each alternative.
PATTERN = re.compile(rf"(?=\S)(?:{'|'.join(ALTERNATIVES.values())})")


def split(text: str) -> list[str]:
    """Split a tweet or a chat message into tokens.

    Kept whole: URLs and e-mail addresses, @names, #tags, emoticons, emoji sequences, repeated punctuation, numbers and
    times, words with inner apostrophes and hyphens. A currency or percent sign is a token of its own, and so is every
    other character.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list of str
        The tokens, in order; put together they are the text without white space.

    Examples
    --------
    >>> split("@ana OMG!!! only $5.99 at www.example.com... can't wait :-) #yay")
    ['@ana', 'OMG', '!!!', 'only', '$', '5.99', 'at', 'www.example.com', '...', "can't", 'wait', ':-)', '#yay']
    >>> split("👩🏽‍🚀🇩🇪 10:30?")
    ['👩🏽‍🚀', '🇩🇪', '10:30', '?']
    """
    return PATTERN.findall(text)
