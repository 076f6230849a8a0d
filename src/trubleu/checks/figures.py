"""Figures with their units: numbers, money, percent, dates, times, versions, and number words in English.

A figure is a value in a unit: ``30 days``, ``€49.90``, ``10 %``, ``31 March``, ``9.52 a.m.``, ``3.11.2``, ``five``.
Durations are compared in seconds or months, so two weeks are 14 days. Names that contain digits (COVID-19, 3-D), list
numbers, and labels such as "step 2" are no figures.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from trubleu.checks.words import word_lists

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_LISTS: Final = word_lists("numbers")
_WORDS: Final = {word: value for value, word in enumerate(_LISTS["values"].split())}
_TENS: Final = {word: 10 * value for value, word in enumerate(_LISTS["tens"].split(), start=2)}
_POWERS: Final[dict[str, int]] = _LISTS["powers"]
_MONTHS: Final = {name[:3]: number for number, name in enumerate(_LISTS["months"].split(), start=1)}
_CURRENCIES: Final = {word: unit for unit, words in _LISTS["currencies"].items() for word in words.split()}
_UNITS: Final = {word: unit for unit, words in _LISTS["units"].items() for word in words.split()}
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_MONTH_UNITS: Final = {"month": 1, "year": 12, "decade": 120, "century": 1200}
_ONLY_ATTACHED: Final = frozenset({"s", "h", "g", "m"})
_UNCOUNTED: Final = frozenset(
    [*_LISTS["uncounted"].split(), *(word for words in word_lists("languages").values() for word in words.split())]
)
_LEAST_LONG: Final = 1000  # "case number 88213" is a figure, "number 5" a label
_LABELS: Final = frozenset(_LISTS["labels"].split())
_MONTH: Final = (
    r"(?P<month%d>(?:[Jj]an|[Ff]eb|Mar|[Aa]pr|[Jj]un|[Jj]ul|[Aa]ug|[Ss]ept?|[Oo]ct|[Nn]ov|[Dd]ec)(?!\w)\.?|[Jj]anuary\b"
    r"|[Ff]ebruary\b|March\b|[Aa]pril\b|May\b|[Jj]une\b|[Jj]uly\b|[Aa]ugust\b|[Ss]eptember\b|[Oo]ctober\b|[Nn]ovember\b"
    r"|[Dd]ecember\b)"
)
_SPACE: Final = r"[ \u00a0\u202f\u2009]"
_GAP: Final = r"[\s\u00a0*_~`]*"
_NUMBER_WORD: Final = "|".join([*_WORDS, *_TENS])
_SCAN: Final = re.compile(
    rf"""
    (?<![\w.,/-])(?P<iso>(?P<y1>\d{{4}})-(?P<m1>\d{{2}})-(?P<d1>\d{{2}}))(?![\w-])
    |(?<![\w.,/])(?P<numeric>(?P<n1>\d{{1,2}})(?P<sep>[/.])(?P<n2>\d{{1,2}})(?P=sep)(?P<n3>\d{{4}}|\d{{2}}))(?![\w/.]\d|\w)
    |(?<![\w.,/])(?P<dm>(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\.?{_GAP}(?:of\s+)?(?-i:{_MONTH % 1}))
    |\b(?P<md>(?-i:{_MONTH % 2}){_GAP}(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?)(?![\w%]|[.,:]\d)
    |(?<![\w.,/:])(?P<clock>(?P<h1>\d{{1,2}})(?:[:.](?P<i1>\d{{2}}))?{_SPACE}?(?P<ap>[ap])(?:\.m\b\.?|m\b))
    |(?<![\w.,/:])(?P<colon>(?P<h2>\d{{1,2}}):(?P<i2>\d{{2}})(?::(?P<s2>\d{{2}}))?)(?![\w:])
    |\b(?P<oclock>(?P<h3>\d{{1,2}}|{_NUMBER_WORD})\s?o\s?['’]\s?clock)\b
    |\b(?P<noon>noon|midnight)\b
    |(?<![\w.,/-])(?P<phone>(?:\+\d{{1,3}}|0\d{{1,4}})(?:[ ()/-]{{1,2}}\d{{2,}})+)(?!\w)
    |(?<![\w.,/-])(?P<version>v?\d+(?:\.\d+){{2,}}|v\d+(?:\.\d+)*)(?![\w])
    |(?P<number>(?<![\w.,])(?:(?<=[^\w]-)|(?<!-)|(?<=\d-))(?:
        \d{{1,3}}(?:[\u00a0\u202f\u2009 ]\d{{3}})+(?![\d])|\d+(?:[.,]\d+)*(?:e[+-]?\d+\b)?))
        (?P<attached>[a-zA-Z]+(?:/h)?)?
    |\b(?P<part>(?P<half>half|(?:a[\s]+)?quarter\s+of)\s+an?\s+(?P<partof>hour|minute|day|year))\b
    |\b(?P<word>(?P<w1>{_NUMBER_WORD})(?:[\s-](?P<w2>{"|".join(list(_WORDS)[1:10])}))?(?P<andhalf>\s+and\s+a\s+half)?)\b(?![-'’](?:third|quarter|fifth|s\b))
    |\b(?P<article>an?)\s+(?P<power>dozen|hundred|thousand|million|billion)\b
    |\b(?P<single>an?|the|next|last|past|this|per|each|every)\s+(?P<singleof>second|minute|hour|day|week|month|year|decade|century|fortnight)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KINDS: Final = (
    *(
        "iso",
        "numeric",
        "dm",
        "md",
        "clock",
        "colon",
        "oclock",
        "noon",
        "phone",
        "version",
        "number",
        "part",
        "word",
        "article",
    ),
    "single",
)
_MONEY_BEFORE: Final = re.compile(rf"(US\$|[AC]\$|[$€£¥₹]|\b(?:USD|EUR|GBP|JPY|INR|CHF)){_GAP}$", re.IGNORECASE)
_NEXT_WORD: Final = re.compile(r"[-\s\u00a0*_~`]*(?P<word>%|°|[^\W\d_]+(?:[/'’][^\W\d_]+)*)")
_SCALE: Final = re.compile(r"\s*(?P<scale>fahrenheit|celsius|centigrade|[fc])\b", re.IGNORECASE)
_SCALES: Final = {"f": "fahrenheit", "c": "celsius"}
_PER_HOUR: Final = re.compile(r"\s*(?:/|per|an)\s*h(?:our|r)?\b", re.IGNORECASE)
BETWEEN_RANGE: Final = re.compile(rf"{_GAP}(?:-|–|—|-?(?:to|and|or|bis)-?){_GAP}[$€£¥₹]?", re.IGNORECASE)
_LABEL_BEFORE: Final = re.compile(r"([^\W\d_]+)\.?[\s*_~`#]*$")
_LIST_NUMBER: Final = re.compile(r"^[ \t>*_#]*(\d{1,3})[.)]\s", re.MULTILINE)
STRICT_UNITS: Final = frozenset(
    {
        *_CURRENCIES.values(),
        *_SCALES.values(),
        *_UNITS.values(),
        "percent",
        "second",
        "month",
        "date",
        "time",
        "version",
        "phone",
    }
)


@dataclass(frozen=True)
class Figure:
    """A value in a unit and its place.

    Attributes
    ----------
    values
        Possible readings of the value, the most likely one first: 762.172 is also 762172 in some languages.
    unit
        A unit or the noun that is counted, in the singular; empty if there is none.
    start, end
        Its place in the text, with the unit where it follows at once.
    plain
        The values as written, before they were converted to the unit.
    word
        Whether it is written as a word.
    weak
        Whether it can support other figures, but is never a finding itself, such as "an hour" or the word "one".
    """

    values: tuple[str, ...]
    unit: str
    start: int
    end: int
    weak: bool = False
    plain: tuple[str, ...] = ()
    word: bool = False

    @property
    def content(self) -> str:
        """Value and unit."""
        return f"{self.values[0]} {self.unit}".rstrip()

    def same_value(self, other: Figure) -> bool:
        """Return whether two figures may have one value; large ones may be rounded to a whole number."""
        bare = not self.unit or not other.unit
        one, two = (self.plain or self.values, other.plain or other.values) if bare else (self.values, other.values)
        return any(value in two for value in one) or _rounded(one[0], two[0])

    def equals(self, other: Figure) -> bool:
        """Return whether two figures may be the same: value and unit."""
        return self.same_value(other) and compatible(self.unit, other.unit)


def _rounded(one: str, other: str) -> bool:
    whole, _, _ = one.partition(".")
    return (
        whole == other.partition(".")[0]
        and len(whole) > 2
        and one.replace(".", "", 1).isdigit()
        and (one == whole or other == whole)
    )


def compatible(one: str, other: str) -> bool:
    """Return whether two units may be the same: equal, one unknown, or two different nouns.

    Examples
    --------
    >>> compatible("people", "children"), compatible("second", "people"), compatible("second", "")
    (True, False, True)
    """
    if one == other or not one or not other:
        return True
    if "degree" in (one, other):
        return {one, other} <= {"degree", "fahrenheit", "celsius"}
    return not (one in STRICT_UNITS or other in STRICT_UNITS)


@lru_cache(maxsize=4096)
def figures(text: str) -> tuple[Figure, ...]:
    """Return all figures of a text in order.

    Examples
    --------
    >>> [figure.content for figure in figures("1,000 users pay €49.90 within two weeks, by 9.52 a.m. on 31 March.")]
    ['1000 user', '49.9 euro', '1209600 second', '9:52 time', '3-31 date']
    >>> figures("COVID-19 in 3-D: see step 2")
    ()
    """
    listed = {match.start(1) for match in _LIST_NUMBER.finditer(text)}
    found: list[Figure] = []
    for match in _SCAN.finditer(text):
        if match.start() not in listed:
            found.extend(_read(match, text))
    return tuple(_with_units_of_ranges(found, text))


def _read(match: re.Match[str], text: str) -> Iterator[Figure]:
    start, end = match.span()
    kind = _kind(match)
    if kind in ("iso", "numeric", "dm", "md"):
        yield from _date(match, kind)
    elif kind == "clock":
        hour, minute = int(match["h1"]), int(match["i1"] or 0)
        half = "p" if match["ap"].lower() == "p" else "a"
        if hour <= 12 and minute < 60:
            yield Figure(_time_readings(hour % 12 + (12 if half == "p" else 0), minute, known=True), "time", start, end)
    elif kind == "colon":
        if int(match["h2"]) < 25 and int(match["i2"]) < 60 and not match["s2"]:
            yield Figure(_time_readings(int(match["h2"]), int(match["i2"]), known=False), "time", start, end)
        else:
            yield Figure((match[0],), "time", start, end)
    elif kind == "oclock":
        hour = int(match["h3"]) if match["h3"].isdigit() else _WORDS.get(match["h3"].lower(), 24)
        yield Figure(_time_readings(hour, 0, known=False), "time", start, end)
    elif kind == "noon":
        hour = 12 if match[0].lower() == "noon" else 0
        yield Figure(_time_readings(hour, 0, known=True), "time", start, end, weak=True)
    elif kind == "phone":
        yield Figure((re.sub(r"\D", "", match[0]),), "phone", start, end)
    elif kind == "version":
        groups = match[0].lstrip("vV").split(".")
        if len(groups) > 2 and all(len(group) == 3 for group in groups[1:]) and len(groups[0]) < 4:
            yield from _plain(Decimal("".join(groups)), (), start, end, "", text)
        else:
            yield Figure((".".join(groups),), "version", start, end)
    elif kind == "number":
        readings = _readings(match["number"])
        if readings:
            yield from _plain(readings[0], readings[1:], start, match.end("number"), match["attached"] or "", text)
    elif kind == "part":
        unit = match["partof"].lower()
        share = Decimal("0.5") if match["half"].lower() == "half" else Decimal("0.25")
        yield _scaled((share,), unit, start, end, weak=True)
    elif kind == "word":
        first = match["w1"].lower()
        second = (match["w2"] or "").lower()
        if first in _TENS:
            value = _TENS[first] + (_WORDS[second] if second else 0)
        else:
            value = _WORDS[first]
            end = end if match["andhalf"] and not second else match.end("w1")
        extra = Decimal("0.5") if match["andhalf"] and end == match.end() else Decimal(0)
        yield from _plain(value + extra, (), start, end, "", text, word=True)
    elif kind == "article":
        yield from _plain(Decimal(_POWERS[match["power"].lower()]), (), start, end, "", text, weak=True)
    elif kind == "single":
        unit = match["singleof"].lower()
        yield _scaled((Decimal(1),), unit, start, end, weak=True)


def _kind(match: re.Match[str]) -> str:
    return next(name for name in _KINDS if match[name] is not None)


def _date(match: re.Match[str], kind: str) -> Iterator[Figure]:
    start, end = match.span()
    if kind == "iso":
        yield Figure((f"{int(match['m1'])}-{int(match['d1'])}",), "date", start + 5, end)
        yield Figure((match["y1"],), "", start, start + 4)
    elif kind == "numeric":
        one, other, year = int(match["n1"]), int(match["n2"]), match["n3"]
        readings = [f"{month}-{day}" for month, day in ((other, one), (one, other)) if 1 <= month <= 12 and day <= 31]
        if readings and len(year) == 4:
            yield Figure(tuple(readings), "date", start, match.end("n2"))
            yield Figure((year,), "", match.start("n3"), end)
        elif readings and match["sep"] == "/":
            yield Figure(tuple(readings), "date", start, end)
        else:
            yield Figure((match[0],), "version", start, end)
    else:
        number = 1 if kind == "dm" else 2
        day = int(match["d2"] if kind == "dm" else match["d3"])
        month = _MONTHS[match[f"month{number}"].lower()[:3]]
        yield Figure((f"{month}-{day}",), "date", start, end)


def _time_readings(hour: int, minute: int, *, known: bool) -> tuple[str, ...]:
    """Return a time of day; without a.m. or p.m., a small hour may be either."""
    own = f"{hour}:{minute:02}"
    return (own,) if known or not 1 <= hour <= 12 else (own, f"{(hour + 12) % 24}:{minute:02}")


def _readings(text: str) -> list[Decimal]:
    """Return what a number may mean: a point or comma before three digits may separate thousands.

    Examples
    --------
    >>> [[str(value) for value in _readings(text)] for text in ("1,000", "0,46", "762.172", "1.234,5", "1 000")]
    [['1000'], ['0.46'], ['762.172', '762172'], ['1234.5'], ['1000']]
    """
    plain = re.sub(r"[\s\u00a0\u202f\u2009]", "", text)
    if "e" in plain.lower():
        return [Decimal(plain.replace(",", "."))]
    groups = re.split(r"[.,]", plain)
    signs = re.findall(r"[.,]", plain)
    try:
        if not signs:
            return [Decimal(plain)]
        thousands = all(len(group) == 3 for group in groups[1:]) and 1 <= len(groups[0]) <= 3 and groups[0] != "0"
        if len(set(signs)) == 1:
            if len(signs) > 1:
                return [Decimal("".join(groups))]
            decimal = Decimal(f"{groups[0]}.{groups[1]}")
            if not thousands:
                return [decimal]
            whole = Decimal("".join(groups))
            first, second = (whole, decimal) if signs[0] == "," else (decimal, whole)
            return [first] if second == second.to_integral_value() and signs[0] == "," else [first, second]
        if len(set(signs[:-1])) == 1 and signs[-1] != signs[0]:
            return [Decimal(f"{''.join(groups[:-1])}.{groups[-1]}")]
        return [Decimal(f"{''.join(groups[:-1])}.{groups[-1]}")]
    except InvalidOperation:  # digits of other scripts that Decimal does not read
        return []


def _plain(
    value: Decimal,
    others: Sequence[Decimal],
    start: int,
    end: int,
    attached: str,
    text: str,
    *,
    word: bool = False,
    weak: bool = False,
) -> Iterator[Figure]:
    """Yield a number with the unit before or after it, unless it is part of a name or a label."""
    values = (value, *others)
    money = _MONEY_BEFORE.search(text, max(0, start - 12), start)
    unit, last = "", end
    if attached:
        suffix = attached.lower()
        if suffix in ("st", "nd", "rd", "th"):
            yield Figure(_written(values), "", start, end + 2)
            return
        if suffix in _POWERS or suffix in ("k", "m"):
            power = {"k": 1000, "m": 10**6}.get(suffix) or _POWERS[suffix]
            if suffix == "m" and not money:
                values = (*values, *(each * power for each in values))
                counted = _NEXT_WORD.match(text, end + 1)
                if counted is None or counted["word"].lower() in _UNCOUNTED:
                    unit = "m"
            else:
                values = tuple(each * power for each in values)
        elif suffix == "s" and len(str(value)) in (2, 4):
            yield Figure(_written(values), "", start, end + 1)  # the 1990s
            return
        elif suffix.rstrip("s") in _CURRENCIES:
            unit = _CURRENCIES[suffix.rstrip("s")]
        elif suffix in _UNITS:
            unit = _UNITS[suffix]
        elif suffix == "x":
            unit = "times"
        else:
            return  # a name such as 4K or 2a
        last = end = end + len(attached)
    label = _LABEL_BEFORE.search(text, max(0, start - 24), start)
    if label and label[1].lower() in _LABELS and value < _LEAST_LONG:
        return
    if not unit:
        values, unit, last, name = _following(values, end, text, money=bool(money))
        if name:
            return
    if money:
        unit, start = _CURRENCIES[money[1].lower()], money.start()
        last = max(end, last) if values[0] != value else end
    if word and value == 1 and unit not in STRICT_UNITS:
        weak = True
    year = not word and not others and value == value.to_integral_value() and 1500 <= value <= 2100
    if year and unit not in STRICT_UNITS:
        unit, last = "", end
    yield replace(_scaled(values, unit, start, last, weak=weak), word=word)


def _following(
    values: tuple[Decimal, ...], end: int, text: str, *, money: bool
) -> tuple[tuple[Decimal, ...], str, int, bool]:
    """Return values times a power, the unit or noun after a number, where it ends, and whether all this is a name."""
    at, noun, noun_end, place = end, "", end, 0
    while place < 4:
        match = _NEXT_WORD.match(text, at)
        if match is None or (place and "\n" in match[0][: match.start("word") - match.start()]):
            break
        found = match["word"]
        lower = found.lower()
        hyphen = text[at : at + 1] == "-"
        if hyphen and place == 0 and (len(found) == 1 and found.isupper()):
            return values, "", end, True  # 3-D
        if place == 0 and (lower in _POWERS or (money and lower in ("m", "k"))):
            power = _POWERS.get(lower) or {"m": 10**6, "k": 1000}[lower]
            values = tuple(value * power for value in values)
            at = end = noun_end = match.end()
            continue
        if found == "%" or lower in ("percent", "percentage"):
            return values, "percent", match.end(), False
        if lower == "per" and re.match(r"\s+cents?\b", text[match.end() : match.end() + 8]):
            return values, "percent", match.end() + 5, False
        singular = _singular(lower)
        unit = _UNITS.get(lower) or _UNITS.get(singular) or _CURRENCIES.get(singular)
        if unit and not (lower in _ONLY_ATTACHED and place):
            if unit == "degree":
                scale = _SCALE.match(text, match.end("word") if lower in ("degree", "degrees", "°") else match.start())
                unit = _SCALES[scale["scale"][0].lower()] if scale else unit
                return values, unit, scale.end() if scale else match.end(), False
            speed = _PER_HOUR.match(text, match.end()) if unit in ("km", "mile") else None
            if speed:
                return values, "kmh" if unit == "km" else "mph", speed.end(), False
            return values, unit, match.end(), False
        if lower in _UNCOUNTED or not found.isalpha():
            break
        if place == 0 or not noun:
            noun, noun_end = singular, match.end()
        at = match.end()
        place += 1
    return values, noun, noun_end if noun else end, False


def _singular(word: str) -> str:
    """Return a noun without its plural ending.

    Examples
    --------
    >>> [_singular(word) for word in ("days", "companies", "address", "boxes", "bus")]
    ['day', 'company', 'address', 'box', 'bus']
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _scaled(values: Iterable[Decimal], unit: str, start: int, end: int, *, weak: bool = False) -> Figure:
    """Return a figure in the base unit: durations in seconds or months."""
    values = tuple(values)
    plain = _written(values)
    if unit == "fortnight":
        values, unit = tuple(14 * value for value in values), "day"
    for base, factors in (("second", _SECONDS), ("month", _MONTH_UNITS)):
        if unit in factors:
            return Figure(_written(value * factors[unit] for value in values), base, start, end, weak, plain)
    return Figure(plain, unit, start, end, weak, plain)


def _written(values: Iterable[Decimal]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_canonical(value) for value in values))


def _canonical(value: Decimal) -> str:
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text.lstrip("0") or "0") or "0"


def _with_units_of_ranges(found: list[Figure], text: str) -> list[Figure]:
    """Give the first number of "3 to 7 days", "8 and 10 pm" or "€3–5" the unit of the other."""
    result = list(found)
    for place in range(len(result) - 2, -1, -1):
        one, other = result[place], result[place + 1]
        between = text[one.end : other.start]
        if not one.unit and other.unit and len(between) < 12 and BETWEEN_RANGE.fullmatch(between):
            result[place] = _like(one, other, text)
        elif one.unit in STRICT_UNITS and not other.unit and len(between) < 6 and re.fullmatch(r"[-–—]", between):
            result[place + 1] = _like(other, one, text)
    return result


def _like(bare: Figure, other: Figure, text: str) -> Figure:
    """Return a bare number in the unit of another figure, as that one writes it."""
    if other.unit == "time" and bare.values[0].isdigit() and int(bare.values[0]) < 25:
        hour = int(bare.values[0])
        return Figure(_time_readings(hour, 0, known=False), "time", bare.start, bare.end, bare.weak)
    if other.unit in ("date", "phone", "version", "time"):
        return bare
    written = figures(f"{text[bare.start : bare.end]} {re.sub(r'^[^a-zA-Z%]*', '', text[other.start : other.end])}")
    if written and written[0].unit == other.unit:
        return Figure(written[0].values, other.unit, bare.start, bare.end, bare.weak, written[0].plain)
    return Figure(bare.values, other.unit, bare.start, bare.end, bare.weak, bare.plain)
