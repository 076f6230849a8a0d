"""How often checks find planted errors, and how often they find something in good outputs.

Errors are planted, one at a time, into good outputs of several sets. Thresholds were chosen on the sets of `TUNED`; the
figures of the others, and of pairs that were written by hand, are what counts.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from trubleu.checks import Checks, Item, new_findings
from trubleu.checks.figures import figures
from trubleu.checks.sentences import sentences
from trubleu.data import read_official_scores
from trubleu.files.lines import iterate_lines, read_text_lines
from trubleu.render.tables import Column, Table, render_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path


SEED: Final = 12345
SENTENCES: Final = 5
"""Segments of a talk or of news that make one output."""
MOST: Final = 100
"""Outputs of a set."""
TUNED: Final = ("talks", "news-cs", "news-ru")

ERRORS: Final = {
    "number": ("number",),
    "swapped": ("number",),
    "negation dropped": ("negation",),
    "negation added": ("negation",),
    "added paragraph": ("added paragraph",),
    "added sentence": ("added sentence", "added paragraph"),
    "missing sentence": ("missing sentence",),
    "refusal": ("refusal",),
}
"""Planted errors, and the kinds of findings that find them."""

NEGATIONS: Final = re.compile(r"\b(?:not|never)\s+|n't\b|(?<= )no (?=\w)", re.IGNORECASE)
AUXILIARY: Final = re.compile(
    r"\b(?:is|are|was|were|will|can|has|have|had|should|would|could|must|may|might)\b(?! not|n't| never| no\b)"
    r"(?=\s+[a-z])"
)
REFUSALS: Final = (
    "I'm sorry, but I can't help with questions about {}. Please contact our support team, who are happy to help.",
    "As an assistant, I'm not able to say anything about {}. Is there something else that I can do for you?",
    "Unfortunately, I cannot answer this request. For information about {}, please see our website or ask an expert.",
    "I don't have enough information on {} to give you an answer. Could you tell me more about what you need?",
)


@dataclass(frozen=True)
class Case:
    """A good output with its references, an earlier good output if there is one, and versions with an error each."""

    set: str
    good: str
    references: tuple[str, ...]
    question: str | None = None
    old: str | None = None
    planted: tuple[tuple[str, str], ...] = ()


def cases(root: Path, seed: int = SEED) -> list[Case]:
    """Return all cases, with errors planted."""
    draw = random.Random(seed)
    result = list(written(root / "planted"))
    for name, found in (
        ("talks", talks(root / "mqm")),
        ("news-cs", assessed(root / "daseg2015", "cs-en")),
        ("news-ru", assessed(root / "daseg2015", "ru-en")),
        ("news-de", news(root / "wmt15")),
        ("summaries", summaries(root / "tasks")),
        ("data", data_to_text(root / "tasks")),
        ("german", german(root / "mtme" / "wmt23")),
    ):
        chosen = found if len(found) <= MOST else sorted(draw.sample(found, MOST), key=found.index)
        chosen = [replace(case, set=name) for case in chosen]
        result += with_errors(chosen, draw)
        if name in ("talks", "news-de", "summaries"):
            copies = [replace(case, set=f"{name} (copies)", good=case.references[0], old=None) for case in chosen]
            result += with_errors(copies, draw)
    return result


def written(folder: Path) -> Iterable[Case]:
    """Return the pairs that were written by hand: paraphrases, and copies of the reference."""
    names = {"missing-step": "missing sentence", "added-paragraph": "added paragraph"}
    for line in iterate_lines(folder / "planted.jsonl"):
        row = json.loads(line)
        for name, good, bad in (
            ("answers", row["good"], row["bad"]),
            ("answers (copies)", row["reference"], row["bad_copy"]),
        ):
            planted = []
            for error, text in bad.items():
                kind = names.get(error, error)
                if kind == "negation":
                    more = len(NEGATIONS.findall(text)) > len(NEGATIONS.findall(good))
                    kind = "negation added" if more else "negation dropped"
                planted.append((kind, text))
            yield Case(name, good, (row["reference"],), row["question"], planted=tuple(planted))


def talks(folder: Path) -> list[Case]:
    """Return TED talks: runs of sentences of a good system, the good reference, and another good system."""
    texts: dict[str, dict[tuple[str, int], str]] = defaultdict(dict)
    with gzip.open(folder / "mqm_ted_zhen.tsv.gz", "rt", encoding="utf-8", newline="") as file:
        next(file)
        for line in file:
            system, doc, _, segment, _, _, target, *_ = line.rstrip("\n").split("\t")
            texts[system].setdefault((doc, int(segment)), re.sub(r"</?v>", "", target).strip('"'))
    places = sorted(texts["refB"])
    return joined(*([texts[name].get(place, "") for place in places] for name in ("Facebook-AI", "refB", "Online-W")))


def assessed(folder: Path, pair: str) -> list[Case]:
    """Return news: outputs of many systems that people found better than most."""
    lines = {
        part: read_text_lines(folder / f"DAseg.newstest2015.{part}.{pair}")
        for part in ("mt-system", "reference", "human")
    }
    scores = [float(score) for score in lines["human"]]
    good = [place for place, score in enumerate(scores) if score > sorted(scores)[len(scores) // 3]]
    return joined(*([lines[part][place] for place in good] for part in ("mt-system", "reference")))


def news(folder: Path) -> list[Case]:
    """Return news by the system that people liked best, and the second best as earlier outputs."""
    scores = read_official_scores(folder / "official_scores" / "wmt15.deu-eng.txt")
    best, second, *_ = sorted(scores, key=lambda name: -scores[name])
    outputs = [
        read_text_lines(folder / "system-outputs" / "de-en" / name.removesuffix(".txt")) for name in (best, second)
    ]
    return joined(outputs[0], read_text_lines(folder / "references" / "newstest2015-deen-ref.en"), outputs[1])


def german(folder: Path) -> list[Case]:
    """Return paragraphs of news in German."""
    outputs, old = (
        read_text_lines(folder / "system-outputs" / "en-de" / f"{name}.txt") for name in ("ONLINE-W", "GPT4-5shot")
    )
    references = read_text_lines(folder / "references" / "en-de.refA.txt")
    rows = zip(outputs, references, old, strict=True)
    return [Case("", good, (reference,), old=before) for good, reference, before in rows if len(good.split()) > 40]


def summaries(folder: Path) -> list[Case]:
    """Return summaries by a good system, the others' as earlier outputs."""
    return _task(folder / "realsumm.jsonl.gz", "bart_out.txt", "semsim_out.txt")


def data_to_text(folder: Path) -> list[Case]:
    """Return descriptions of data by a good system, those of another one as earlier outputs."""
    return _task(folder / "webnlg17.jsonl.gz", "upf-forge", "melbourne")


def _task(path: Path, system: str, old: str) -> list[Case]:
    rows = [json.loads(line) for line in iterate_lines(path)]
    before = {row["seg"]: row["output"] for row in rows if row["system"] == old}
    return [
        Case("", row["output"], tuple(row["refs"]), old=before[row["seg"]])
        for row in rows
        if row["system"] == system and row["output"].strip() and before.get(row["seg"], "").strip()
    ]


def joined(outputs: Sequence[str], references: Sequence[str], old: Sequence[str] | None = None) -> list[Case]:
    """Return runs of segments as one case each."""
    rows: list[Case] = []
    for first in range(0, len(outputs) - SENTENCES + 1, SENTENCES):
        part = slice(first, first + SENTENCES)
        if all(outputs[part]) and (old is None or all(old[part])):
            before = None if old is None else " ".join(old[part])
            rows.append(Case("", " ".join(outputs[part]), (" ".join(references[part]),), old=before))
    return rows


def with_errors(found: Sequence[Case], draw: random.Random) -> list[Case]:
    """Plant each error that can be planted into each output."""
    result = []
    for place, case in enumerate(found):
        other = found[(place + 1 + draw.randrange(len(found) - 1)) % len(found)].good
        planted = [(kind, plant(case, other, draw)) for kind, plant in PLANTERS.items()]
        result.append(
            replace(case, planted=tuple((kind, text) for kind, text in planted if text and text != case.good))
        )
    return result


def change_number(case: Case, _other: str, draw: random.Random) -> str | None:
    """Change the digits of one number to some that stand nowhere."""
    text = case.good
    places = [match for match in re.finditer(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?![\w-])", text) if _is_figure(text, match)]
    if not places:
        return None
    match = draw.choice(places)
    known = " ".join([text, *case.references, case.old or "", case.question or ""])
    for _ in range(50):
        digits = [draw.choice("123456789" if not place else "0123456789") if char.isdigit() else char
                  for place, char in enumerate(match[0])]  # fmt: skip
        new = "".join(digits)
        if new not in known:
            return f"{text[: match.start()]}{new}{text[match.end() :]}"
    return None


def swap_numbers(case: Case, _other: str, draw: random.Random) -> str | None:
    """Swap two numbers that the first reference has, too."""
    text = case.good
    places = [match for match in re.finditer(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?![\w-])", text) if _is_figure(text, match)]
    places = [match for match in places if re.search(rf"(?<![\d.,]){re.escape(match[0])}(?![\d])", case.references[0])]
    pairs = [(a, b) for i, a in enumerate(places) for b in places[i + 1 :] if a[0] != b[0]]
    if not pairs:
        return None
    a, b = draw.choice(pairs)
    return f"{text[: a.start()]}{b[0]}{text[a.end() : b.start()]}{a[0]}{text[b.end() :]}"


def _is_figure(text: str, match: re.Match[str]) -> bool:
    return any(figure.start <= match.start() < figure.end and not figure.weak for figure in figures(text))


def drop_negation(case: Case, _other: str, draw: random.Random) -> str | None:
    """Remove a negation."""
    places = list(NEGATIONS.finditer(case.good))
    if not places:
        return None
    match = draw.choice(places)
    return f"{case.good[: match.start()]}{case.good[match.end() :]}"


def add_negation(case: Case, _other: str, draw: random.Random) -> str | None:
    """Put a "not" after an auxiliary verb."""
    places = list(AUXILIARY.finditer(case.good))
    if not places:
        return None
    match = draw.choice(places)
    return f"{case.good[: match.end()]} not{case.good[match.end() :]}"


def _long(text: str) -> list[Any]:
    return [part for part in sentences(text) if len(text[part.start : part.end].split()) >= 6]


def remove_sentence(case: Case, _other: str, draw: random.Random) -> str | None:
    """Remove a sentence."""
    parts = _long(case.good)
    if len(parts) < 3:
        return None
    part = draw.choice(parts)
    return case.good[: part.start] + case.good[part.end :].lstrip(" ")


def add_sentence(case: Case, other: str, draw: random.Random) -> str | None:
    """Insert a sentence of another output."""
    parts, foreign = sentences(case.good), _long(other)
    if not parts or not foreign:
        return None
    part, at = draw.choice(foreign), draw.choice(parts).end
    return f"{case.good[:at]} {other[part.start : part.end]}{case.good[at:]}"


def add_paragraph(case: Case, other: str, draw: random.Random) -> str | None:
    """Append two or three sentences of another output."""
    foreign = _long(other)
    if len(foreign) < 2:
        return None
    first = draw.randrange(len(foreign) - 1)
    last = min(len(foreign), first + draw.choice((2, 3)))
    return f"{case.good}\n\n{other[foreign[first].start : foreign[last - 1].end]}"


def refuse(case: Case, _other: str, draw: random.Random) -> str | None:
    """Refuse to answer, naming what the reference is about."""
    words = [word for word in re.findall(r"\w+", case.references[0]) if len(word) > 4]
    start = draw.randrange(max(1, len(words) - 2))
    return draw.choice(REFUSALS).format(" and ".join(words[start : start + 2]))


PLANTERS: Final[dict[str, Callable[[Case, str, random.Random], str | None]]] = {
    "number": change_number,
    "swapped": swap_numbers,
    "negation dropped": drop_negation,
    "negation added": add_negation,
    "added paragraph": add_paragraph,
    "added sentence": add_sentence,
    "missing sentence": remove_sentence,
    "refusal": refuse,
}


@dataclass(frozen=True)
class Rate:
    """How many of the planted errors of a set were found, and how many good outputs have a finding of such a kind."""

    set: str
    error: str
    baseline: bool
    planted: int
    found: int
    good: int
    alarms: int


def rates(found: Sequence[Case], checks: Checks, *, baseline: bool) -> list[Rate]:
    """Check all outputs, with or without earlier outputs."""
    chosen = [case for case in found if case.old or not baseline]
    items: list[Item] = []
    places = []
    for case in chosen:
        start = len(items)
        old = (case.old,) if baseline and case.old else ()
        texts = (case.good, *(text for _, text in case.planted))
        items.extend(Item(text, case.references, None, case.question, old) for text in texts)
        if baseline and case.old:
            items.append(Item(case.old, case.references, None, case.question))
        places.append(start)
    findings = checks.find_all(items)
    counts: dict[tuple[str, str], list[int]] = {}
    for case, start in zip(chosen, places, strict=True):
        own = findings[start : start + 1 + len(case.planted)]
        before = [findings[start + 1 + len(case.planted)]] if baseline and case.old else []
        clean = new_findings(own[:1], before)
        for error, kinds in ERRORS.items():
            count = counts.setdefault((case.set, error), [0, 0, 0, 0])
            count[2] += 1
            count[3] += any(finding.kind in kinds for finding in clean)
        for (error, _), bad in zip(case.planted, own[1:], strict=True):
            kinds = ERRORS[error]
            more = [each for each in new_findings([bad], [*before, own[0]]) if each.kind in kinds]
            count = counts[case.set, error]
            count[0] += 1
            count[1] += bool(more)
    return [Rate(name, error, baseline, *count) for (name, error), count in counts.items()]


def run(source: Path, folder: Path) -> int:
    """Write the tables of recall and false alarms, and print them."""
    found = cases(source.parent)
    everything = [rate for baseline in (False, True) for rate in rates(found, Checks(), baseline=baseline)]
    tables = [recall_table([rate for rate in everything if rate.baseline == baseline]) for baseline in (False, True)]
    text = render_tables(tables, "markdown", 0)
    (folder / "findings.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def recall_table(found: Sequence[Rate]) -> Table:
    """Return the share of errors found, and of good outputs with such a finding, in percent: a row a set."""
    sets = list(dict.fromkeys(rate.set for rate in found))
    cells = {(rate.set, rate.error): _cell(rate) for rate in found}
    rows = [(name, *(cells.get((name, error), "") for error in ERRORS)) for name in sets]
    title = "with an accepted earlier output" if found and found[0].baseline else "without an earlier output"
    return Table(title, [Column("set"), *(Column(error, kind="text") for error in ERRORS)], rows, name="findings")


def _cell(rate: Rate) -> str:
    """Return "found % / false alarms %", or nothing if no error could be planted."""
    if not rate.planted:
        return ""
    return f"{100 * rate.found / rate.planted:.0f} / {100 * rate.alarms / rate.good:.0f}"
