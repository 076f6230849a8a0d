"""`words`: the expression that its documentation states, and clusters of scripts without spaces."""

from __future__ import annotations

import re
import subprocess
import sys
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
        ("e\u0301我\u3000한국-어 😀", ["e", "\u0301", "我", "한국-어", "😀"]),
        ("a\u0e48b", ["a", "\u0e48", "b"]),  # a tone mark without a letter
        ("\ud800我\ud800", ["\ud800", "我", "\ud800"]),
    ],
)
def test_scripts_without_spaces(text: str, tokens: list[str]) -> None:
    assert tokenizer("words").tokens(text) == tokens
    assert tokenizer("words").lines([text]) == [" ".join(tokens)]


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
def test_other_scripts_are_split_as_before(text: str) -> None:
    text = "".join(char for char in text if not is_unspaced(char))
    words = tokenizer("words")
    tokens = FIRST.findall(text)
    assert words.tokens(text) == tokens == words.lines([text])[0].split()
    assert "".join(tokens) == "".join(text.split())


MIXED = st.text(st.sampled_from("ab1é-'’_ ,　。我京ラーか\u3099ﾞทีน้ำ๒ကျွန်ខ្ម\u0301\u200d\ufe0f😀한\n\ud800"))


@given(MIXED)
def test_nothing_is_lost(text: str) -> None:
    words = tokenizer("words")
    tokens = words.tokens(text)
    assert tokens == words.lines([text])[0].split()
    assert "".join(tokens) == "".join(text.split())


@given(MIXED)
def test_what_is_between_clusters_is_split_as_before(text: str) -> None:
    tokens = tokenizer("words").tokens(text)
    others = [token for token in tokens if not has_unspaced(token)]
    assert all(FIRST.findall(token) == [token] for token in others)
    # A cluster has one letter, and only what is written on it may follow; ำ is a letter to Unicode.
    for cluster in (token for token in tokens if has_unspaced(token)):
        assert has_unspaced(cluster[0])
        assert all(unicodedata.category(char)[0] in "MC" or char in "ำﾞ" for char in cluster[1:])


def test_lower_case() -> None:
    # 'İ' becomes two characters, of which the second is no letter for this expression; a sigma at the end of a word
    # is another one than inside it.
    assert tokenizer("words").tokens("İYİ ΟΔΟΣ", lowercase=True) == ["i", "̇", "yi", "̇", "οδος"]


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
