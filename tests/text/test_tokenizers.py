"""Names, callables, and what goes wrong with them."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import TrubleuError, UsageError
from trubleu.metrics import metric
from trubleu.text import Tokenizer, names, tokenizer
from trubleu.text.tokenizers import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence


def by_comma(text: str) -> list[str]:
    return text.split(",")


def shout(text: str, mark: str = "!") -> str:
    return f"{text.upper()} {mark}"


class Splitter:
    def __call__(self, text: str) -> Sequence[str]:
        return tuple(text)

    def method(self, text: str) -> list[str]:
        return text.split("-")


def test_names() -> None:
    ours = ("chat", "words")
    assert names() == (
        *("13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "spm", "flores101", "flores200", "none"),
        *ours,
    )


@pytest.mark.parametrize(
    ("name", "native"),
    [("13a", "13a"), ("none", "none"), ("intl", None), ("char", None), ("zh", None), ("chat", None)],
)
def test_name_and_native(name: str, native: str | None) -> None:
    made = tokenizer(name)
    assert (made.name, made.known_as, made.native) == (name, name, native)
    assert repr(made) == f"Tokenizer(name={name!r}, native={native!r})"


def test_a_version_is_in_the_name_but_not_in_what_people_write() -> None:
    made = tokenizer("words")
    assert (made.name, made.known_as, made.native) == ("words-3", "words", None)
    with pytest.raises(UsageError, match="there is no tokenizer 'words-3'; did you mean words"):
        tokenizer("words-3")


@pytest.mark.parametrize("spec", ["13a", "none", "intl", "chat", "words", by_comma, str.split])
def test_equal_hashable_and_pickled(spec: Any) -> None:
    made = tokenizer(spec)
    again = pickle.loads(pickle.dumps(made))  # noqa: S301
    assert again == made == tokenizer(spec)
    assert len({made, again}) == 1
    assert again.lines(["a, b c"]) == made.lines(["a, b c"])
    assert made != tokenizer("char")


def test_frozen() -> None:
    made: Any = tokenizer("words")
    with pytest.raises(AttributeError):
        made.name = "other"
    assert not hasattr(made, "__dict__")


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (by_comma, f"{__name__}.by_comma"),
        (functools.partial(shout, mark="?"), f"{__name__}.shout"),
        (Splitter(), f"{__name__}.Splitter"),
        (Splitter().method, f"{__name__}.Splitter.method"),
        (str.split, "str.split"),
        (lambda text: text, f"{__name__}.<lambda>"),
    ],
)
def test_name_of_a_callable(function: Any, name: str) -> None:
    made = tokenizer(function)
    assert made.name == name
    assert made.native is None


def test_callable_without_a_hash() -> None:
    @dataclass
    class Splitter:
        separator: str

        def __call__(self, text: str) -> list[str]:
            return text.split(self.separator)

    assert len({tokenizer(Splitter(" ")), tokenizer(Splitter(" ")), tokenizer(Splitter(","))}) == 2
    assert metric("bleu-1", tokenize=Splitter(",")).corpus(["a,b"], [["a,c"]]).score == pytest.approx(50)


def test_callable_that_returns_a_string() -> None:
    made = tokenizer(shout)
    assert made.tokens("a  b\u2003c \n") == ["A", "B", "C", "!"]
    assert made.lines(["a  b\u2003c \n", ""]) == ["A B C !", "!"]


def test_callable_that_returns_tokens() -> None:
    made = tokenizer(by_comma)
    assert made.tokens("New York,,x ") == ["New York", "", "x"]
    assert made.lines(["New York,,x ", "a,b"]) == [f"New{MARK}20;York {MARK}; x", "a b"]


def test_callable_that_returns_a_tuple() -> None:
    assert tokenizer(Splitter()).tokens("ab") == ["a", "b"]
    assert tokenizer(Splitter()).lines(["ab", "a b"]) == ["a b", f"a {MARK}20; b"]


def test_string_and_tokens_stay_apart() -> None:
    # One callable, two kinds of results: what one returns as a string must not look like an escape of the other's.
    def either(text: str) -> str | list[str]:
        return [" "] if text == "list" else f"{MARK}20;"

    first, second = tokenizer(either).lines(["list", "string"])
    assert first != second
    assert len(first.split()) == len(second.split()) == 1


@given(st.lists(st.lists(st.text(st.sampled_from(f" \u2003ab;20{MARK}"), max_size=4), max_size=4), max_size=4))
def test_lines_are_equal_if_and_only_if_tokens_are(documents: list[list[str]]) -> None:
    made = tokenizer(lambda index: documents[int(index)])
    lines = made.lines([str(index) for index in range(len(documents))])
    for tokens, line in zip(documents, lines, strict=True):
        assert len(line.split()) == len(tokens)
        for other_tokens, other_line in zip(documents, lines, strict=True):
            assert (line.split() == other_line.split()) == (tokens == other_tokens)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (None, "NoneType"),
        (3, "int"),
        (b"ab", "bytes"),
        (b"", "bytes"),
        ({"a": 1}, "dict"),
        (iter(["a"]), "iterator"),
        (["a", None], "None in it"),
        (["a", 1, "b"], "list with 1 in it"),
        ([b"a"], "b'a' in it"),
    ],
)
def test_callable_that_returns_something_else(result: Any, said: str) -> None:
    made = tokenizer(lambda _: result)
    message = r"<lambda>.*'a text'.*a string or a list of strings"
    with pytest.raises(UsageError, match=message) as caught:
        made.lines(["a text"])
    assert said in str(caught.value)
    with pytest.raises(UsageError, match=message):
        made.tokens("a text")


def test_error_inside_a_callable_is_not_hidden() -> None:
    def broken(text: str) -> str:
        raise TypeError(f"broken for {text}")

    with pytest.raises(TypeError, match="broken for a"):
        tokenizer(broken).tokens("a")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("13", "13a"),
        ("chatt", "did you mean chat"),
        ("flores20", "flores200"),
        ("", "known: 13a, intl"),
        ("qqqq", "words"),
    ],
)
def test_unknown_name(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        tokenizer(name)


@pytest.mark.parametrize("spec", [None, 13, ["13a"]])
def test_neither_name_nor_callable(spec: Any) -> None:
    with pytest.raises(UsageError, match=type(spec).__name__) as caught:
        tokenizer(spec)
    assert isinstance(caught.value, TrubleuError)


def test_one_string_is_not_a_list_of_texts() -> None:
    with pytest.raises(UsageError, match="a list of texts"):
        tokenizer("words").lines("hello")


@pytest.mark.parametrize("name", ["13a", "none", "intl", "char", "zh", "chat", "words"])
def test_no_texts(name: str) -> None:
    assert tokenizer(name).lines([]) == []
    assert tokenizer(name).lines(["", " \n"]) == ["", ""]
    assert tokenizer(name).lines(("a b",)) == ["a b"]


def test_lower_case_comes_first() -> None:
    seen: list[str] = []

    def spy(text: str) -> str:
        seen.append(text)
        return text

    made = tokenizer(spy)
    made.lines(["İSTANBUL ΟΔΟΣ  "], lowercase=True)
    made.tokens(" Straße\u2003", lowercase=True)
    made.tokens(" A\n")
    assert seen == ["i̇stanbul οδος", " straße", " A"]


def test_sacrebleu_is_imported_late() -> None:
    code = (
        "import sys\n"
        "from trubleu.text import names, tokenizer\n"
        "assert 'trubleu.text.chat' not in sys.modules\n"
        "names(); tokenizer('13a'); tokenizer('none'); tokenizer('chat'); tokenizer('words'); tokenizer(str.split)\n"
        "assert not {'sacrebleu', 'numpy', 'regex'} & set(sys.modules)\n"
        "assert tokenizer('13a').tokens('a.') == ['a', '.']\n"
        "assert 'sacrebleu' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_type_is_public() -> None:
    assert isinstance(tokenizer("words"), Tokenizer)
