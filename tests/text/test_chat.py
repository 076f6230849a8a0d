"""`chat`: what stays together, that nothing gets lost, and that no text makes it slow."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trubleu.text import tokenizer
from trubleu.text.chat import ALTERNATIVES, split

TABLE = {
    # addresses
    "see https://example.org/a?b=1&c=2#d, ok": ["see", "https://example.org/a?b=1&c=2#d", ",", "ok"],
    "(at http://example.org/x_(y).)": ["(", "at", "http://example.org/x_(y)", ".", ")"],
    "HTTPS://T.CO/Ab1… ftp://a.b/c": ["HTTPS://T.CO/Ab1", "…", "ftp://a.b/c"],
    "www.example.com! example.com.": ["www.example.com", "!", "example.com", "."],
    "shop.example.co.uk/a/?b localhost.com:8080/x": ["shop.example.co.uk/a/?b", "localhost.com:8080/x"],
    "youtu.be/x_Y-1 bit.ly/a": ["youtu.be/x_Y-1", "bit.ly/a"],
    "example.com.Next": ["example.com", ".", "Next"],
    "https://hi.wikipedia.org/wiki/हिन्दी।": ["https://hi.wikipedia.org/wiki/हिन्दी", "।"],
    "http:// foo://": ["http", ":", "//", "foo", ":", "//"],
    "ok.so great.news": ["ok", ".", "so", "great", ".", "news"],
    "ask a.b+c@mail.example.co.uk.": ["ask", "a.b+c@mail.example.co.uk", "."],
    "a@b": ["a", "@b"],
    # names and tags
    "@ana_1: hi #yay! #हिन्दी @a@b.social": ["@ana_1", ":", "hi", "#yay", "!", "#हिन्दी", "@a@b.social"],
    "C# ## @": ["C", "#", "##", "@"],
    # emoticons
    ":-) :) ;) =) :] :'( >:( :)))": [":-)", ":)", ";)", "=)", ":]", ":'(", ">:(", ":)))"],
    ":D :DDD ;p :P :-/ :| :\\": [":D", ":DDD", ";p", ":P", ":-/", ":|", ":\\"],
    ":o :3 :-x :* :$ :@": [":o", ":3", ":-x", ":*", ":$", ":@"],
    "(-: (; ): D: d:": ["(-:", "(;", "):", "D:", "d:"],
    "<3 </3 <333 xD XD 8-) x-( \\o/": ["<3", "</3", "<333", "xD", "XD", "8-)", "x-(", "\\o/"],
    "^_^ ^^ -_- -___- o_O O.o T_T T.T": ["^_^", "^^", "-_-", "-___-", "o_O", "O.o", "T_T", "T.T"],
    ">_< >.> ;_; ._. @_@ *_* (^_^)": [">_<", ">.>", ";_;", "._.", "@_@", "*_*", "(", "^_^", ")"],
    "¯\\_(ツ)_/¯ well": ["¯\\_(ツ)_/¯", "well"],
    "thanks:) haha:D hi(:": ["thanks", ":)", "haha", ":D", "hi", "(:"],
    "(so): yes": ["(", "so", ")", ":", "yes"],
    "a:b C:\\dir via:@ana x<30 x >=3": [
        *["a", ":", "b", "C", ":", "\\", "dir", "via", ":", "@ana", "x", "<", "30", "x", ">", "=", "3"]
    ],
    # emoji
    "👩‍👩‍👧‍👦👍🏽 ❤️ 🏳️‍🌈": ["👩‍👩‍👧‍👦", "👍🏽", "❤️", "🏳️‍🌈"],
    "🇩🇪🇫🇷🇪": ["🇩🇪", "🇫🇷", "🇪"],
    "1️⃣2️⃣#️⃣": ["1️⃣", "2️⃣", "#️⃣"],
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f!": [
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "!",
    ],
    "lol😂😂 🧑🏿‍🚀‼️": ["lol", "😂", "😂", "🧑🏿‍🚀", "‼️"],
    # punctuation
    "no!!! what?!?! so... … hm.. a--b": ["no", "!!!", "what", "?!?!", "so", "...", "…", "hm", "..", "a", "--", "b"],
    "(a (b)) да)))": ["(", "a", "(", "b", ")", ")", "да", ")))"],
    '"hi", [x] & y': ['"', "hi", '"', ",", "[", "x", "]", "&", "y"],
    # numbers
    "$5.99 5,99€ 50% 1,000,000.50": ["$", "5.99", "5,99", "€", "50", "%", "1,000,000.50"],
    "10:30 10:30pm 24/7 .5 $.99 v1.2.3 3.": ["10:30", "10:30pm", "24/7", ".5", "$", ".99", "v1.2.3", "3", "."],
    "-5 +1 2020-2021": ["-", "5", "+", "1", "2020-2021"],
    # words
    "don't y’all well-known rock'n'roll": ["don't", "y’all", "well-known", "rock'n'roll"],
    "'quoted' dogs' well-": ["'", "quoted", "'", "dogs", "'", "well", "-"],
    "e\u0301te\u0301 हिन्दी می\u200cخواهم": ["e\u0301te\u0301", "हिन्दी", "می\u200cخواهم"],
    # nothing
    "": [],
    " \t\n\u2003\x1f": [],
}

# Pieces that start something, so that random texts get into every alternative.
PIECES = [
    *[
        "http://",
        "www.",
        "a.com",
        "/x",
        "(",
        ")",
        "@",
        "#",
        ":",
        ";",
        "=",
        "-",
        "_",
        "^",
        "<",
        "3",
        "D",
        "o",
        ".",
        ",",
        "'",
    ],
    *[
        "\u0301",
        "\u200d",
        "\u200c",
        "\ufe0f",
        "\u20e3",
        "👩",
        "🏽",
        "🇩",
        "\U000e0067",
        "\U000e007f",
        "¯\\_(ツ)_/¯",
        "1",
        "%",
    ],
    *[" ", "\n", "\u2028", "\x1c", "\u3000", "\ud800", "हि", "İ", "ß"],
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join)


@pytest.mark.parametrize(("text", "tokens"), TABLE.items(), ids=range(len(TABLE)))
def test_table(text: str, tokens: list[str]) -> None:
    assert split(text) == tokens


@given(TEXTS)
@example("".join(PIECES))
def test_every_character_is_in_one_token(text: str) -> None:
    tokens = split(text)
    assert "".join(tokens) == "".join(text.split())
    assert tokenizer("chat").lines([text]) == [" ".join(tokens)]
    assert " ".join(tokens).split() == tokens


@given(TEXTS, TEXTS)
def test_white_space_separates(left: str, right: str) -> None:
    assert split(f"{left} {right}") == split(left) + split(right)


@given(st.lists(st.sampled_from(["ab", "1", "x", "don't", "well-known", ",", ".", "!", "?", "é", "O"]), max_size=20))
def test_short_cuts_change_nothing(pieces: list[str]) -> None:
    rest = [pattern for name, pattern in ALTERNATIVES.items() if not name.startswith("plain")]
    for text in ("".join(pieces), " ".join(pieces)):
        assert re.findall("|".join(rest), text) == split(text)


@pytest.mark.parametrize(
    "unit",
    [
        *[
            "a.",
            "@",
            "(-",
            "http://",
            "👩‍",
            "a@",
            "a-",
            "1.",
            ":D",
            "-_",
            "^_",
            "a.b",
            "a.com",
            "a.com/",
            "<3",
            ":'",
            ".a",
        ],
        *[
            "+.",
            "www.",
            "🇩",
            " ",
            "_",
            "a+",
            "a@b.",
            "@a@b.",
            "('",
            ">:",
            "\u200d",
            "\u0301",
            "e\u0301",
            "http://a(",
            "¯\\_",
        ],
        *[
            "a" * 63 + ".",
            "-" + "_" * 50,
            "a.a.a.a.a.a.a.a@",
            "a.aa/",
            "http://a.'",
            "www.:",
            "1,",
            "!?",
            "a'",
            "#a@a.",
        ],
    ],
)
@pytest.mark.parametrize("ends", [("", ""), ("http://", ""), ("", "a"), ("-", "!")])
def test_time_is_linear(unit: str, ends: tuple[str, str]) -> None:
    before, after = ends
    text = before + unit * (100_000 // len(unit)) + after
    started = time.process_time()
    tokens = split(text)
    # It takes about a tenth of a second; with one quadratic alternative it would be minutes.
    assert time.process_time() - started < 5
    assert "".join(tokens) == "".join(text.split())


@pytest.mark.parametrize("text", [":D xD D: o_O T_T :P", "HTTP://EXAMPLE.COM WWW.X.ORG"])
def test_lower_case_keeps_tokens_together(text: str) -> None:
    assert tokenizer("chat").tokens(text, lowercase=True) == text.lower().split()
