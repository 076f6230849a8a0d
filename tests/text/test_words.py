"""`words`: the expression that its documentation states, marks, and clusters of scripts without spaces."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.native import kernels
from trubleu.text import tokenizer
from trubleu.text.unspaced import CHARACTERS, has_unspaced
from trubleu.text.words import lines, split

# What `words` was before it had a version.
FIRST = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")

# By the names that Unicode gives to characters, so that no table of ranges is compared with itself.
UNSPACED_NAME = re.compile(
    r"(?:CJK (?:UNIFIED|COMPATIBILITY) IDEOGRAPH|CJK RADICAL|KANGXI RADICAL|HANGZHOU NUMERAL|"
    r"IDEOGRAPHIC (?:NUMBER ZERO|ITERATION MARK|CLOSING MARK)|VERTICAL IDEOGRAPHIC ITERATION MARK|MASU MARK|"
    r"VERTICAL KANA|HIRAGANA |KATAKANA[ -]|HALFWIDTH KATAKANA|HENTAIGANA|THAI |LAO |KHMER |MYANMAR )"
)
# Digits stay together, and these marks and symbols stand alone as before.
SPACED_NAME = re.compile(
    r".*DIGIT|KATAKANA MIDDLE DOT|HALFWIDTH KATAKANA (?:MIDDLE DOT|(?:SEMI-)?VOICED)|KATAKANA-HIRAGANA (?:SEMI-)?VOICED"
    r"|KHMER SYMBOL|KATAKANA-HIRAGANA DOUBLE"
)


def is_unspaced(char: str) -> bool:
    name = unicodedata.name(char, "")
    return UNSPACED_NAME.match(name) is not None and SPACED_NAME.match(name) is None


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's a well-known fact, isn’t it?", ["It's", "a", "well-known", "fact", ",", "isn’t", "it", "?"]),
        ("'tis rock-'n'-roll--", ["'", "tis", "rock", "-", "'", "n", "'", "-", "roll", "-", "-"]),
        ("3.5 a_b Zürich", ["3", ".", "5", "a_b", "Zürich"]),
        ("a\u2003b\x1fc\u00a0d", ["a", "b", "c", "d"]),
        ("", []),
        (" \n", []),
    ],
)
def test_examples(text: str, tokens: list[str]) -> None:
    assert tokenizer("words").tokens(text) == tokens
    assert tokenizer("words").lines([text]) == [" ".join(tokens)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("我用Python写", ["我", "用", "Python", "写"]),
        ("Zürich北京", ["Zürich", "北", "京"]),
        ("你好，世界。", ["你", "好", "，", "世", "界", "。"]),
        ("我’s a-我 我-b", ["我", "’", "s", "a", "-", "我", "我", "-", "b"]),
        ("well-known我isn't", ["well-known", "我", "isn't"]),
        ("2024年１２月", ["2024", "年", "１２", "月"]),
        ("佐々木〇〆𠮷", ["佐", "々", "木", "〇", "〆", "𠮷"]),
        ("葛\U000e0100飾", ["葛\U000e0100", "飾"]),  # a variation selector
        ("ラーメンを食べる", ["ラ", "ー", "メ", "ン", "を", "食", "べ", "る"]),
        ("か\u3099ハ\u309aン", ["か\u3099", "ハ\u309a", "ン"]),  # combining dakuten and handakuten
        ("ｶﾞｰﾄﾞ", ["ｶﾞ", "ｰ", "ﾄﾞ"]),
        ("コーヒー・ミルク", ["コ", "ー", "ヒ", "ー", "・", "ミ", "ル", "ク"]),
        ("ที่นี่มีน้ำ", ["ที่", "นี่", "มี", "น้ำ"]),
        ("เปิด Python ปี ๒๕๖๖", ["เ", "ปิ", "ด", "Python", "ปี", "๒๕๖๖"]),
        ("ກີ່ ນ້ຳ", ["ກີ່", "ນ້ຳ"]),
        ("ភាសា។", ["ភា", "សា", "។"]),
        ("ကျွန်ုပ် ၁၂၃", ["ကျွ", "န်ု", "ပ်", "၁၂၃"]),
        ("서울에서 北京", ["서울에서", "北", "京"]),
        ("e\u0301我\u3000한국-어 😀", ["e\u0301", "我", "한국-어", "😀"]),
        ("a\u0e48b", ["a", "\u0e48", "b"]),  # a tone mark without a letter
        ("\ud800我\ud800", ["\ud800", "我", "\ud800"]),
    ],
)
def test_scripts_without_spaces(text: str, tokens: list[str]) -> None:
    assert tokenizer("words").tokens(text) == tokens
    assert tokenizer("words").lines([text]) == [" ".join(tokens)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("मैं ठीक हूँ।", ["मैं", "ठीक", "हूँ", "।"]),
        ("தமிழ் পেয়েছি", ["தமிழ்", "পেয়েছি"]),
        ("שָׁלוֹם العَرَبِيَّة", ["שָׁלוֹם", "العَرَبِيَّة"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),  # a zero-width non-joiner
        ("re\u0301sume\u0301-x, I\u0307", ["re\u0301sume\u0301-x", ",", "I\u0307"]),
        ("👩\u200d💻👍🏽🇩🇪❤\ufe0f!", ["👩\u200d💻", "👍🏽", "🇩🇪", "❤\ufe0f", "!"]),
        ("m² \u0301a \u0600 ١٢", ["m²", "\u0301a", "\u0600", "١٢"]),
        ("हूँ\x1fm²", ["हूँ", "m²"]),
    ],
)
def test_marks(text: str, tokens: list[str]) -> None:
    assert tokenizer("words").tokens(text) == tokens
    assert tokenizer("words").lines([text]) == [" ".join(tokens)]


def test_long_runs_take_linear_time() -> None:
    for cluster in ("\U0001f1e9", "👩🏽\u200d", "❤\ufe0f", "a\u0301-", "\u0600", "ที่"):
        began = time.process_time()
        assert "".join(split(cluster * 100_000)) == cluster * 100_000
        assert time.process_time() - began < 5  # flags took half a minute when each counted all before it


def test_which_characters() -> None:
    ours = re.compile(f"[{CHARACTERS}]")
    # Han and kana that Python's Unicode does not know yet are in the ranges already; nothing is there but letters,
    # marks and signs of these scripts.
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        category = unicodedata.category(char)
        if category not in ("Cn", "So"):
            named = is_unspaced(char)
            assert bool(ours.match(char)) == named, f"U+{code:04X} {unicodedata.name(char, '?')}"
            assert has_unspaced(f"a–{char}") == named


@given(st.text())
def test_texts_without_marks_are_split_by_one_expression(text: str) -> None:
    text = "".join(
        char
        for char in text
        if not is_unspaced(char) and unicodedata.category(char)[0] not in "MC" and not "🏻" <= char <= "🏿"
    )
    words = tokenizer("words")
    tokens = FIRST.findall(text)
    assert words.tokens(text) == tokens == words.lines([text])[0].split()
    assert "".join(tokens) == "".join(text.split())


def test_every_character_without_marks_is_split_by_one_expression() -> None:
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if not is_unspaced(char) and unicodedata.category(char)[0] not in "MC":
            for text in (f"a{char}b", f"{char} {char}x", f"-{char}'{char}"):
                # A letter of Hindi chooses the other way of splitting.
                assert split(f"{text} क") == [*split(text), "क"]


MIXED = st.text(st.sampled_from("ab1é-'’_ ,　。我京ラーか\u3099ﾞทีน้ำ๒ကျွန်ខ្មमैंूँ\u0301\u200c\u200d\ufe0f😀한\n\ud800"))


def plain_split(text: str) -> list[str]:
    """Walk over the characters by their Unicode categories; knows only the characters of `MIXED`."""

    def extends(char: str) -> bool:
        return unicodedata.category(char)[0] == "M" or char in "\u200c\u200d"

    def in_word(char: str) -> bool:
        return not is_unspaced(char) and (char.isalnum() or char == "_" or extends(char))

    tokens: list[str] = []
    begin = 0
    while begin < len(text):
        end = begin + 1
        first = text[begin]
        if in_word(first):
            while end < len(text) and (
                in_word(text[end]) or (text[end] in "-'’" and end + 1 < len(text) and in_word(text[end + 1]))
            ):
                end += 1
        else:
            # ำ and ﾞ are letters to Unicode, but belong to the cluster before them.
            while end < len(text) and (
                extends(text[end]) or text[end] in "ำﾞ" or (first == "😀" == text[end] and text[end - 1] == "\u200d")
            ):
                end += 1
        if first.isspace():
            end = begin + 1
        else:
            tokens.append(text[begin:end])
        begin = end
    return tokens


@given(MIXED)
def test_mixed_texts(text: str) -> None:
    words = tokenizer("words")
    tokens = words.tokens(text)
    assert tokens == plain_split(text)
    assert tokens == words.lines([text])[0].split()
    assert "".join(tokens) == "".join(text.split())


def test_lower_case() -> None:
    # 'İ' becomes two characters, the second of which is a mark; a sigma differs at the end of a word.
    assert tokenizer("words").tokens("İYİ ΟΔΟΣ", lowercase=True) == ["i̇yi̇", "οδος"]


def test_regex_is_imported_late() -> None:
    code = (
        "import sys\n"
        "from trubleu.text import tokenizer\n"
        "words = tokenizer('words')\n"
        "words.tokens('Straße – 서울 😀')\n"
        "assert 'regex' not in sys.modules\n"
        "words.tokens('北京')\n"
        "assert 'regex' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(
    st.text(alphabet=st.characters(max_codepoint=127), max_size=40) | st.text(alphabet="ab-_' .\t\x1c9,", max_size=20)
)
def test_lines_of_ascii_text_are_its_tokens(text: str) -> None:
    expected = [" ".join(split(text)), " ".join(split(text.lower()))]
    assert [*lines([text]), *lines([text], lowercase=True)] == expected
    assert [*kernels.ascii_words((text,), False), *kernels.ascii_words((text,), True)] == expected


def test_lines_of_other_texts_are_their_tokens() -> None:
    texts = ["naïve CAFÉ, isn’t it?", "我用Python写", "\ud83d x", "", "plain"]
    assert lines(texts) == [" ".join(split(text)) for text in texts]
    assert lines(texts, lowercase=True) == [" ".join(split(text.lower())) for text in texts]
    assert kernels.ascii_words(("é", "a"), False) == [None, "a"]
    with pytest.raises(TypeError, match="texts must be strings"):
        kernels.ascii_words(("a", 1), False)  # type: ignore[arg-type]
