"""Findings, their levels, and which of them are new."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.checks import KINDS, Checks, Finding, Item, common_kinds, new_findings
from trubleu.checks.links import code, links
from trubleu.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def kinds(output: str, *references: str, checks: Checks | None = None) -> list[str]:
    return [found.kind for found in (checks or Checks()).find(output, references)]


def finding(content: str, kind: str = "number") -> Finding:
    return Finding(kind, content, content, "warn")


def test_new_findings_are_in_some_new_repeat_and_no_old_one() -> None:
    new = [[finding("a"), finding("b")], [finding("b"), finding("c")]]
    assert new_findings(new, [[finding("a")], [finding("c")]]) == [finding("b")]
    assert new_findings(new, []) == [finding("a"), finding("b"), finding("c")]


def test_the_same_content_of_another_kind_is_new() -> None:
    assert new_findings([[finding("a", "link")]], [[finding("a", "code")]]) == [finding("a", "link")]


def test_common_kinds_need_several_and_more_than_one_in_twenty() -> None:
    old = [[finding("a")], [finding("b")], *([[]] * 38)]
    assert common_kinds(old) == {}
    assert common_kinds(old[:-1]) == {"number": 2}
    assert common_kinds(old[1:3]) == {}
    assert common_kinds([[finding("", "empty")]] * 9) == {}
    assert common_kinds([]) == {}


def test_links_and_code_without_a_source_are_found() -> None:
    assert kinds("See https://evil.example.org/a.", "See https://www.example.org/a.") == ["link"]
    assert kinds("See www.example.org/a/", "See https://example.org/a.") == []
    assert kinds("Mail us at a@b.org.", "Mail c@b.org.") == ["link"]
    assert kinds("Run `rm -r x`.", "Run `rm x`.") == ["code"]
    assert kinds("Run `rm x`.", "Run rm x.") == []
    assert kinds("```sh\nrm -r x\n```", "```\nrm -r x\n```") == []


def test_quotation_marks_of_old_texts_are_no_code() -> None:
    assert kinds("He said ``yes'' and ``no''.", "He agreed.") == []


def test_an_empty_output_is_a_finding_of_its_own() -> None:
    assert kinds(" \n", "Yes, 5 days.") == ["empty"]
    assert kinds("", "") == []


def test_rules_of_all_items_and_of_one() -> None:
    checks = Checks(contains=["Regards"], excludes=["lawyer"], regex=[r"^Dear \w+"])
    assert kinds("Dear Ann,\nhello. Regards", "Hello.", checks=checks) == []
    assert kinds("hello, lawyer", "Hello.", checks=checks) == ["contains", "excludes", "regex"]
    item = Item("hello", ["Hello."], contains=["x"], excludes=["hell"], regex=["y$"])
    assert [found.kind for found in Checks().find_all([item])[0]] == ["contains", "excludes", "regex"]


def test_levels_can_be_changed() -> None:
    checks = Checks(levels={"number": "fail", "missing number": "off"})
    assert [(found.kind, found.level) for found in checks.find("6 days", ["5 days"])] == [("number", "fail")]


def test_bad_references_support_nothing() -> None:
    assert "number" in [found.kind for found in Checks().find("6 days", ["5 days", "6 days"], [1.0, -1.0])]


def test_settings_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "checks.toml"
    path.write_text('longer = 3\nexcludes = ["lawyer"]\n[levels]\nadded-sentence = "off"\nmissing_number = "fail"\n')
    checks = Checks.read(path)
    assert checks == Checks(longer=3, excludes=["lawyer"], levels={"added sentence": "off", "missing number": "fail"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("levels = 3", "levels must be a table"),
        ('[levels]\nnumbr = "off"', "there is no kind of finding 'numbr'; did you mean number"),
        ('[levels]\nnumber = "on"', "the level of 'number' is 'on'; write off, warn or fail"),
        ("longr = 2", "there is no setting 'longr'; did you mean longer"),
        ("longer = 1", "longer is 1; write a number above 1"),
        ("shorter = true", "shorter is True; write a number from 0 to below 1"),
        ('regex = ["("]', r"the regular expression '\(' is broken"),
        ('contains = "x"', "contains must be a list of texts"),
        ("longer =", "is not a TOML file"),
    ],
)
def test_broken_settings_are_named(tmp_path: Path, settings: str, message: str) -> None:
    path = tmp_path / "checks.toml"
    path.write_text(settings)
    with pytest.raises(UsageError, match=message) as error:
        Checks.read(path)
    assert str(path) in str(error.value)


def test_weights_must_fit() -> None:
    with pytest.raises(UsageError, match="2 weights were given for 1 references"):
        Checks().find("x", ["y"], [1.0, 2.0])


def test_every_kind_has_levels() -> None:
    assert all({level.alone, level.baseline} <= {"warn", "fail"} for level in KINDS.values())


PIECES = st.sampled_from(
    (
        *(
            "5 days",
            "30 %",
            "not ",
            "€49.90 ",
            ". ",
            "\n|- |",
            "**",
            "`x`",
            "a.m. ",
            "one ",
            "two and a half ",
            "9:52 ",
        ),
        *(
            "31 March ",
            "<b>",
            "{",
            "the cat ",
            "is ",
            "1. ",
            "to ",
            " 3",
            "1,000",
            "0800 112 233",
            "v1.2.3",
            "[",
            "1/2",
        ),
        *("http://a.b/c ", "Mrs. ", "(", ") ", "no ", "never ", "\xa0"),
    )
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=12).map("".join)


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.none() | TEXTS, st.none() | TEXTS)
def test_any_texts_can_be_checked_and_give_the_same_findings_again(
    output: str, references: list[str], question: str | None, old: str | None
) -> None:
    found = Checks().find(output, references, None, question, old)
    assert found == Checks().find(output, references, None, question, old)
    assert all(0 <= start < end <= len(output) for finding in found for start, end in finding.spans)
    assert len({finding.identity for finding in found}) == len(found)


@given(TEXTS, TEXTS)
def test_the_normalised_content_of_figures_and_links_is_its_own(text: str, reference: str) -> None:
    for part in (*links(text), *code(text)):
        again = [*links(part.content), *code(f"`{part.content}`")]
        assert part.content in [each.content for each in again]


@given(st.text(max_size=80))
def test_an_output_equal_to_a_good_reference_has_no_findings(text: str) -> None:
    assert Checks().find(text, [text]) == []
    assert Checks().find(text, ["Another answer.", text]) == []
