"""The plan and the status of a study as tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from trubleu.errors import counted
from trubleu.rating.decision import Decision
from trubleu.rating.plan import Plan
from trubleu.rating.study_estimate import NextItem, WantedInterval
from trubleu.rating.summary import ModelSummary, RaterSummary, Summary, WeightBin
from trubleu.render.tables import FOR_PROGRAMS, Column, Estimate, Table, one_line, record_table, table_of
from trubleu.scoring.next_ratings import NextText, RatingPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trubleu.rating.estimate import Estimates, SystemEstimate
    from trubleu.render.tables import Kind
    from trubleu.stats.prediction_powered import MeanInterval


SHOWN_TEXTS = 20  # references of a plan shown to people
_ALMOST = 0.99  # an interval that becomes narrower by less does not count as narrower
_TEXT = 60  # characters of a disputed text shown to people


def status_tables(found: Summary) -> list[Table]:
    """Return the status of a study, for people."""
    share = f" ({100 * found.counted / found.wanted:.1f} %)" if found.wanted else ""
    left = f", {found.hours_left:,.1f} hours left at this pace" if found.hours_left else ""
    alpha = found.alpha
    interval = "" if alpha.low != alpha.low else f" [{alpha.low:.3f}, {alpha.high:.3f}]"
    kappa = "undefined"
    if found.kappa is not None:
        kappa = f"{found.kappa:.3f}, mean of {counted(found.pairs, 'pair')} of raters, weighted by shared texts"
    facts = [
        ("state", "paused" if found.paused else "running"),
        ("ratings", f"{found.counted:,} of {found.wanted:,}{share}"),
        ("items complete", f"{found.complete:,} of {found.items:,}"),
        ("ratings in the last hour", f"{found.last_hour:,}{left}"),
        ("with raters now", f"{found.waiting:,}"),
        ("could not judge", f"{found.unable:,}"),
        ("not counted", f"{found.uncounted:,}"),
        ("Krippendorff's α, ordinal", alpha.reason or f"{alpha.alpha:.3f}{interval} of {counted(alpha.items, 'text')}"),
        ("quadratic κ between raters", kappa),
    ]
    tables = [Table("", [Column("what", ""), Column("value", "")], facts, name="progress")]
    tables += [_decisions_table(found)] if found.decisions else []
    tables += [_questions_table(found)] if len(found.questions) > 1 else []
    tables += [_raters_table(found.raters)] if found.raters else []
    tables += [_models_table(found)] if found.models else []
    tables += [_bias_table(found)] if any(model.beside.bias for model in found.models) else []
    if found.counted and found.weights:
        weights = [
            Column("weight", of=lambda each: f"{each.low:+.2f} to {each.high:+.2f}"),
            Column("texts", kind="count", of=lambda each: each.count),
        ]
        tables.append(table_of(found.weights, weights, "Weights"))
    if found.disputed:
        disputed = [
            Column("item", of=lambda each: _short(each.key)),
            Column("scores", of=lambda each: " ".join(map(str, each.scores))),
            Column("spread", kind="number"),
            Column("message", of=lambda each: _short(each.message or "")),
            Column("text", of=lambda each: _short(each.text)),
        ]
        tables.append(table_of(found.disputed, disputed, "What raters disagree on most", name="disputed"))
    return tables


def _decisions_table(found: Summary) -> Table:
    columns = [
        Column("systems", of=lambda each: one_line(f"{each.system} − {each.other}")),
        Column("segments", "complete segments", of=lambda each: f"{each.segments:,} of {each.planned:,}"),
        Column("difference", kind="signed", of=lambda each: Estimate(each.difference, each.low, each.high)),
        Column("verdict", "enough ratings?", of=lambda each: one_line(each.verdict)),
    ]
    return table_of(
        found.decisions, columns, "Difference, with an interval that is valid at every look", name="decisions"
    )


def _questions_table(found: Summary) -> Table:
    columns = [
        Column("question", of=lambda each: each.name),
        Column("answered", kind="count"),
        Column("left_out", "left out", kind="count"),
        Column("alpha", "α, ordinal", "number", 3, lambda each: None if each.alpha.reason else each.alpha.alpha),
        Column("note", "", of=lambda each: each.alpha.reason if each.answered else "nobody has answered it"),
    ]
    title = f"Questions (below: {found.questions[found.question].name})"
    return table_of(found.questions, columns, title, name="questions")


def _raters_table(raters: Sequence[RaterSummary]) -> Table:
    columns = [
        Column("number", kind="count", of=lambda each: each.rater.id),
        Column("name", of=lambda each: one_line(each.rater.name)),
        Column("ratings", kind="count"),
        Column("counted", kind="count"),
        Column("seconds", "seconds each", kind="number", digits=1),
        Column("scores", f"scores 1 to {len(raters[0].scores)}", of=lambda each: " ".join(map(str, each.scores))),
        Column("mean", kind="number"),
        Column("spread", kind="number"),
        Column("gold", of=lambda each: f"{each.gold_right} of {each.gold_total}" if each.gold_total else None),
        Column("kappa", "κ with the rest", kind="number", of=lambda each: each.agreement),
        Column("shared", kind="count"),
        Column("state", of=lambda each: _excluded(each) or "; ".join(filter(None, (each.gold_note, *each.flags)))),
    ]
    return table_of(raters, columns, "Raters")


def _excluded(person: RaterSummary) -> str:
    return f"excluded: {one_line(person.rater.reason or '')}" if person.rater.excluded else ""


def _models_table(found: Summary) -> Table:
    def state(model: ModelSummary) -> str:
        return "; ".join((_excluded(model.person) or model.beside.verdict, *model.person.flags))

    columns = [
        Column("number", kind="count", of=lambda each: each.person.rater.id),
        Column("name", of=lambda each: one_line(each.person.rater.name)),
        Column("ratings", kind="count", of=lambda each: each.person.ratings),
        Column("refused", kind="count"),
        Column("shared", "shared texts", kind="count", of=lambda each: each.beside.shared),
        Column("alpha_without", "α of people", kind="number", digits=3, of=lambda each: each.beside.alpha_without),
        Column("alpha", "α with it", kind="number", digits=3, of=lambda each: each.beside.alpha),
        Column("kappa", "κ with people", kind="number", digits=3, of=lambda each: each.beside.kappa),
        Column("winning_rate", "ω", kind="number", of=lambda each: getattr(each.beside.test, "winning_rate", None)),
        Column("advantage", "ρ", kind="number", of=lambda each: getattr(each.beside.test, "advantage", None)),
        Column("verdict", "may replace a person", of=state),
    ]
    return table_of(found.models, columns, "Models beside people", name="models")


def _bias_table(found: Summary) -> Table:
    columns = [
        Column("model", of=lambda row: one_line(row[0].person.rater.name)),
        Column("by", of=lambda row: row[1].by),
        Column("group", "", of=lambda row: one_line(row[1].group)),
        Column("texts", kind="count", of=lambda row: row[1].texts),
        Column("difference", "score less people's", kind="signed", of=lambda row: row[1].difference),
        Column("error", "standard error", kind="number", of=lambda row: row[1].error),
    ]
    rows = [(model, each) for model in found.models for each in model.beside.bias]
    return table_of(rows, columns, "What models favour", name="bias")


def _short(text: str) -> str:
    line = one_line(text[: 2 * _TEXT])
    return line if len(line) <= _TEXT else line[: _TEXT - 1] + "…"


def status_records(found: Summary) -> list[Table]:
    """Return the status of a study, for programs."""
    scores = [f"scores_{score}" for score in range(1, len(found.raters[0].scores) + 1)] if found.raters else []
    raters = [
        (each.rater, each, SimpleNamespace(**dict(zip(scores, each.scores, strict=True)))) for each in found.raters
    ]
    models = [
        (each.beside.test or SimpleNamespace(reason=None), each.beside, each.person, each.person.rater, each)
        for each in found.models
    ]
    bias = [
        (each, SimpleNamespace(model=model.person.rater.id)) for model in found.models for each in model.beside.bias
    ]
    disputed = [(each, SimpleNamespace(item=each.key)) for each in found.disputed]
    progress = "paused items complete wanted counted uncounted unable waiting last_hour hours_left"
    agreement = "alpha low high items ratings raters reason confidence resamples undefined seed kappa pairs"
    person = "id name entry excluded reason created_at erased_at ratings counted seconds mean spread gold_right"
    more = "gold_total gold_note agreement shared last_at flags"
    model = "id name excluded ratings refused shared mean spread alpha_without alpha kappa winning_rate advantage"
    return [
        _records("progress", progress, [(found,)]),
        _records("agreement", agreement, [(found.alpha, found)]),
        record_table("decisions", Decision, found.decisions),
        _records("questions", "name text answered left_out alpha low high", [(q.alpha, q) for q in found.questions]),
        _records("raters", " ".join((person, more, *scores)), raters),
        _records("models", f"{model} epsilon passed reason flags", models),
        _records("bias", "model by group texts difference error", bias),
        record_table("weights", WeightBin, found.weights),
        _records("disputed", "item part message text scores spread", disputed),
        Table("", [Column("note")], [(note,) for note in found.notes], name="notes"),
        Table("", [Column("warning")], [(warning,) for warning in found.warnings], name="warnings"),
    ]


def _records(name: str, columns: str, rows: Iterable[Sequence[object]]) -> Table:
    """Return a table for programs: each column is an attribute of the first object of a row that has it."""

    def cell(row: Sequence[object], column: str) -> Any:
        value = next((getattr(each, column) for each in row if hasattr(each, column)), None)
        if isinstance(value, tuple):
            return " ".join(map(str, value)) if column == "scores" else "; ".join(value)
        return value

    names = columns.split()
    return Table("", [*map(Column, names)], [[cell(row, each) for each in names] for row in rows], name=name)


def rating_plan_tables(made: RatingPlan, format: str) -> tuple[list[Table], tuple[str, ...]]:  # noqa: A002
    """Return which references to rate next, and for people the effect on the interval."""
    if format in FOR_PROGRAMS:
        head = record_table("plan", RatingPlan, [made], without=("what", "texts"))
        texts = record_table("texts", NextText, made.texts)
        return ([texts] if format == "csv" else [head, texts]), ()
    said = f"The interval of {made.what} is {made.width:.2f} wide"
    wanted = 0.0 if made.wanted is None else made.wanted
    if made.width <= wanted:
        said += f": no more ratings are needed for {wanted:g}."
    elif made.texts:
        said += f"; {counted(made.ratings, 'more rating')} would make it {made.planned:.2f}."
    elif made.least < _ALMOST * made.width:
        said += ", and more ratings by the same raters would not make it narrower; add raters or segments."
    else:
        said += ", and ratings would not make it narrower; add segments."
    notes = [said]
    if wanted and made.least > wanted:
        notes.append(f"Ratings alone cannot make it {wanted:g} wide, only {made.least:.2f}; add segments.")
    elif wanted and made.planned > wanted and made.same_raters > wanted:
        notes.append(f"The same raters cannot make it {wanted:g} wide, only {made.same_raters:.2f}; add raters.")
    elif made.planned > wanted > 0:
        notes.append(f"That is not {wanted:g} yet; plan more with --most.")
    columns = [Column("segment"), Column("ratings", kind="count"), Column("more", kind="count"), Column("text")]
    rows = [(each.segment, each.ratings, each.more, _short(each.text)) for each in made.texts[:SHOWN_TEXTS]]
    if len(made.texts) > SHOWN_TEXTS:
        notes.append(f"{SHOWN_TEXTS} of {len(made.texts):,} references are shown; --format csv has all.")
    return ([Table("", columns, rows, name="texts")] if rows else []), tuple(notes)


def estimate_plan_tables(
    chosen: Sequence[NextItem],
    intervals: Sequence[WantedInterval] | None,
    format: str,  # noqa: A002
) -> tuple[list[Table], tuple[str, ...]]:
    """Return which items to give to people next, and what intervals of a wanted width take."""
    if format in FOR_PROGRAMS:
        items = record_table("items", NextItem, chosen)
        wanted = [] if intervals is None else [record_table("intervals", WantedInterval, intervals)]
        return [*wanted, items], ()
    tables = []
    if intervals is not None:
        columns = [
            Column("name", "system", of=lambda row: one_line(row.system + (f" − {row.other}" if row.other else ""))),
            Column("proxy", of=lambda row: one_line(row.proxy)),
            Column("rated", "rated items", kind="count"),
            Column("width", "interval now", kind="number"),
            Column("wanted", kind="number"),
            Column("items", "items more", kind="count"),
            Column("ratings", "ratings more", kind="count"),
            Column("cost", kind="number", digits=2),
            Column("currency", ""),
        ]
        tables.append(table_of(intervals, columns, "Ratings that the wanted interval takes", name="intervals"))
    columns = [
        Column("item", of=lambda row: _short(row.item)),
        Column("chance", kind="number", digits=3),
        Column("spread", "uncertainty", kind="number"),
        Column("text", of=lambda row: _short(row.text)),
    ]
    drawn = [each for each in chosen if each.state == "chosen"]
    tables.append(table_of(drawn[:SHOWN_TEXTS], columns, "Items to give to people next, drawn by chance", name="items"))
    notes = ["--format csv has all items, with the probabilities that rate estimate --probabilities reads"]
    if len(drawn) > SHOWN_TEXTS:
        notes.append(f"{SHOWN_TEXTS} of {len(drawn):,} items are shown")
    notes += [
        f"{each.system}{f' − {each.other}' if each.other else ''}: the interval cannot be {each.wanted:g} wide, only "
        f"{each.narrowest:.2f} if people rate all items; add items"
        for each in intervals or ()
        if each.items is None
    ]
    return tables, tuple(notes)


def plan_table(made: Plan, *, for_people: bool) -> Table:
    """Return the estimated effort of a study; for programs, a column per field."""
    if not for_people:
        return record_table("plan", Plan, [made])
    rows: list[tuple[str, str]] = [
        ("items", f"{made.items:,}"),
        ("ratings asked for", f"{made.wanted:,}"),
        ("of these there already", f"{made.there:,}"),
        ("ratings to be given", f"{made.missing:,}"),
        ("gold items on top", f"{made.gold:,}"),
        ("practice on top", f"{made.practice:,}"),
        ("seconds per task", f"{made.seconds_per_item:g}"),
        ("hours", f"{made.hours:,.2f}"),
        ("people", f"{made.people:,}"),
        ("items each, at most", f"{made.items_each:,}"),
        ("minutes each, at most", f"{made.minutes_each:,.0f}"),
        (f"cost at {made.per_hour:g} {made.currency} an hour", f"{made.cost:,.2f} {made.currency}"),
    ]
    return Table("", [Column("what", ""), Column("amount", "", kind="count")], rows, name="plan")


def estimate_tables(made: Estimates, *, for_people: bool) -> list[Table]:
    """Return mean ratings of systems and their differences; for programs, every number of each estimate."""
    if not for_people:
        return [_estimate_records("systems", made.systems), _estimate_records("differences", made.differences)]
    tables = [table_of(made.systems, _estimate_columns("system", "number"), "Mean rating", name="systems")]
    if made.differences:
        columns = _estimate_columns("systems", "signed")
        tables.append(table_of(made.differences, columns, "Difference", name="differences"))
    return tables


def _estimate_columns(title: str, kind: Kind) -> list[Column]:
    def interval(found: MeanInterval | None) -> Estimate | None:
        return None if found is None else Estimate(found.mean, found.low, found.high)

    return [
        Column("name", title, of=lambda row: one_line(row.name)),
        Column("proxy", of=lambda row: one_line(row.proxy)),
        Column("rated", kind="count", of=lambda row: row.found and row.found.rated),
        Column("unrated", "by proxy alone", kind="count", of=lambda row: row.found and row.found.unrated),
        Column("people", "people alone", kind, of=lambda row: interval(row.found and row.found.people)),
        Column("powered", "with the proxy", kind, of=lambda row: interval(row.found and row.found.powered)),
        Column("tuning", "λ", of=lambda row: row.found and " ".join(f"{each:.2g}" for each in row.found.tuning)),
        Column("effective", "as if rated", of=_effective),
    ]


def _effective(row: SystemEstimate) -> str | None:
    if row.found is None:
        return None
    return f"{row.found.rated:,}: worth nothing" if row.worthless else f"{row.found.effective:,.0f}"


def _estimate_records(name: str, rows: Sequence[SystemEstimate]) -> Table:
    def flat(row: SystemEstimate) -> tuple[object, ...]:
        found = row.found
        if found is None:
            return (row, SimpleNamespace(note=row.worth))
        ends = {
            f"{which}_{each}": getattr(own, each)
            for which, own in (("people", found.people), ("powered", found.powered))
            for each in ("mean", "error", "low", "high", "degrees")
        }
        tuning = " ".join(map(repr, found.tuning))
        return (SimpleNamespace(tuning=tuning, note=row.worth, **ends), row, found)

    both = "mean error low high degrees"
    columns = " ".join(f"{which}_{each}" for which in ("people", "powered") for each in both.split())
    more = "rated unrated effective useful random_raters target confidence tuning note"
    return _records(name, f"system other proxy {columns} {more}", [flat(row) for row in rows])
