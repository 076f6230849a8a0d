"""The plan and the status of a study as tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from trubleu.errors import counted
from trubleu.rating.plan import Plan
from trubleu.render.tables import FOR_PROGRAMS, Column, Table, one_line, record_table
from trubleu.scoring.next_ratings import NextText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.rating.summary import ModelSummary, RaterSummary, Summary
    from trubleu.scoring.next_ratings import RatingPlan


SHOWN_TEXTS = 20  # references of a plan shown to people
_ALMOST = 0.99  # an interval that becomes narrower by less does not count as narrower
_TEXT = 60  # characters of a disputed text shown to people


def status_tables(found: Summary) -> list[Table]:
    """Return the status of a study, for people."""
    share = f" ({100 * found.counted / found.wanted:.1f} %)" if found.wanted else ""
    left = f", {found.hours_left:,.1f} hours left at this pace" if found.hours_left else ""
    alpha = found.alpha
    interval = "" if alpha.low != alpha.low else f" [{alpha.low:.3f}, {alpha.high:.3f}]"
    facts = [
        ("state", "paused" if found.paused else "running"),
        ("ratings", f"{found.counted:,} of {found.wanted:,}{share}"),
        ("items complete", f"{found.complete:,} of {found.items:,}"),
        ("ratings in the last hour", f"{found.last_hour:,}{left}"),
        ("with raters now", f"{found.waiting:,}"),
        ("could not judge", f"{found.unable:,}"),
        ("not counted", f"{found.uncounted:,}"),
        ("Krippendorff's α, ordinal", alpha.reason or f"{alpha.alpha:.3f}{interval} of {counted(alpha.items, 'text')}"),
        (
            "quadratic κ between raters",
            "undefined"
            if found.kappa is None
            else f"{found.kappa:.3f}, mean of {counted(found.pairs, 'pair')} of raters, weighted by shared texts",
        ),
    ]
    weights = [(f"{each.low:+.2f} to {each.high:+.2f}", each.count) for each in found.weights]
    disputed = [
        (_short(each.key), " ".join(map(str, each.scores)), each.spread, _short(each.message or ""), _short(each.text))
        for each in found.disputed
    ]
    tables = [Table("", [Column("what", ""), Column("value", "")], facts, name="progress")]
    if len(found.questions) > 1:
        tables.append(_questions_table(found))
    if found.raters:
        tables.append(_raters_table(found.raters))
    if found.models:
        tables.append(_models_table(found))
    if any(model.beside.bias for model in found.models):
        tables.append(_bias_table(found))
    if found.counted and found.weights:
        columns = [Column("weight"), Column("texts", kind="count")]
        tables.append(Table("Weights", columns, weights))
    if disputed:
        names = [Column("item"), Column("scores"), Column("spread", kind="number"), Column("message"), Column("text")]
        tables.append(Table("What raters disagree on most", names, disputed, name="disputed"))
    return tables


def _questions_table(found: Summary) -> Table:
    columns = [
        Column("question"),
        Column("answered", kind="count"),
        Column("left_out", "left out", kind="count"),
        Column("alpha", "α, ordinal", kind="number", digits=3),
        Column("note", ""),
    ]
    rows = [
        (
            each.name,
            each.answered,
            each.left_out,
            None if each.alpha.reason else each.alpha.alpha,
            each.alpha.reason if each.answered else "nobody has answered it",
        )
        for each in found.questions
    ]
    return Table(f"Questions (below: {found.questions[found.question].name})", columns, rows, name="questions")


def _raters_table(raters: Sequence[RaterSummary]) -> Table:
    columns = [
        Column("number", kind="count"),
        Column("name"),
        Column("ratings", kind="count"),
        Column("counted", kind="count"),
        Column("seconds", "seconds each", kind="number", digits=1),
        Column("scores", f"scores 1 to {len(raters[0].scores)}"),
        Column("mean", kind="number"),
        Column("spread", kind="number"),
        Column("gold"),
        Column("kappa", "κ with the rest", kind="number"),
        Column("shared", kind="count"),
        Column("state", ""),
    ]
    rows = [
        (
            each.rater.id,
            one_line(each.rater.name),
            each.ratings,
            each.counted,
            each.seconds,
            " ".join(map(str, each.scores)),
            each.mean,
            each.spread,
            f"{each.gold_right} of {each.gold_total}" if each.gold_total else None,
            each.agreement,
            each.shared,
            f"excluded: {one_line(each.rater.reason or '')}"
            if each.rater.excluded
            else "; ".join(filter(None, (each.gold_note, *each.flags))),
        )
        for each in raters
    ]
    return Table("Raters", columns, rows)


def _models_table(found: Summary) -> Table:
    columns = [
        Column("number", kind="count"),
        Column("name"),
        Column("ratings", kind="count"),
        Column("refused", kind="count"),
        Column("shared", "shared texts", kind="count"),
        Column("alpha_without", "α of people", kind="number", digits=3),
        Column("alpha", "α with it", kind="number", digits=3),
        Column("kappa", "κ with people", kind="number", digits=3),
        Column("winning_rate", "ω", kind="number"),
        Column("advantage", "ρ", kind="number"),
        Column("verdict", "may replace a person"),
    ]
    rows = [
        (
            model.person.rater.id,
            one_line(model.person.rater.name),
            model.person.ratings,
            model.refused,
            model.beside.shared,
            *map(_defined, (model.beside.alpha_without, model.beside.alpha, model.beside.kappa)),
            *(_defined(getattr(model.beside.test, name, math.nan)) for name in ("winning_rate", "advantage")),
            "; ".join((_state(model), *model.person.flags)),
        )
        for model in found.models
    ]
    return Table("Models beside people", columns, rows, name="models")


def _state(model: ModelSummary) -> str:
    rater = model.person.rater
    return f"excluded: {one_line(rater.reason or '')}" if rater.excluded else model.beside.verdict


def _bias_table(found: Summary) -> Table:
    columns = [
        Column("model"),
        Column("by"),
        Column("group", ""),
        Column("texts", kind="count"),
        Column("difference", "score less people's", kind="signed"),
        Column("error", "standard error", kind="number"),
    ]
    rows = [
        (
            one_line(model.person.rater.name),
            each.by,
            one_line(each.group),
            each.texts,
            each.difference,
            _defined(each.error),
        )
        for model in found.models
        for each in model.beside.bias
    ]
    return Table("What models favour", columns, rows, name="bias")


def _defined(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _short(text: str) -> str:
    line = one_line(text[: 2 * _TEXT])
    return line if len(line) <= _TEXT else line[: _TEXT - 1] + "…"


def status_records(found: Summary) -> list[Table]:
    """Return the status of a study, for programs."""
    progress = (
        "paused", "items", "complete", "wanted", "counted", "uncounted", "unable", "waiting", "last_hour", "hours_left",
    )  # fmt: skip
    agreement = (
        "alpha", "low", "high", "items", "ratings", "raters", "reason", "confidence", "resamples", "undefined",
        "seed",
    )  # fmt: skip
    kappa = (*(getattr(found.alpha, name) for name in agreement), found.kappa, found.pairs)
    person = ("id", "name", "entry", "excluded", "reason", "created_at", "erased_at")
    own = (
        "ratings",
        "counted",
        "seconds",
        "mean",
        "spread",
        "gold_right",
        "gold_total",
        "gold_note",
        "agreement",
        "shared",
        "last_at",
    )
    points = len(found.raters[0].scores) if found.raters else 5
    asked = [
        (each.name, each.text, each.answered, each.left_out, each.alpha.alpha, each.alpha.low, each.alpha.high)
        for each in found.questions
    ]
    raters = [
        (
            *(getattr(each.rater, name) for name in person),
            *(getattr(each, name) for name in own),
            "; ".join(each.flags),
            *each.scores,
        )
        for each in found.raters
    ]
    scores = [f"scores_{score}" for score in range(1, points + 1)]
    disputed = [
        (each.key, each.part, each.message, each.text, " ".join(map(str, each.scores)), each.spread)
        for each in found.disputed
    ]

    models = (
        "id", "name", "excluded", "ratings", "refused", "shared", "mean", "spread", "alpha_without", "alpha", "kappa",
        "winning_rate", "advantage", "epsilon", "passed", "reason", "flags",
    )  # fmt: skip
    bias = ("by", "group", "texts", "difference", "error")

    def table(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
        return Table("", [*map(Column, columns)], rows, name=name)

    return [
        table("progress", progress, [[getattr(found, name) for name in progress]]),
        table("agreement", (*agreement, "kappa", "pairs"), [kappa]),
        table("questions", ("name", "text", "answered", "left_out", "alpha", "low", "high"), asked),
        table("raters", (*person, *own, "flags", *scores), raters),
        table("models", models, [_model_record(model) for model in found.models]),
        table(
            "bias",
            ("model", *bias),
            [
                (model.person.rater.id, *(getattr(each, name) for name in bias))
                for model in found.models
                for each in model.beside.bias
            ],
        ),
        table("weights", ("low", "high", "count"), [(each.low, each.high, each.count) for each in found.weights]),
        table("disputed", ("item", "part", "message", "text", "scores", "spread"), disputed),
        table("notes", ("note",), [(note,) for note in found.notes]),
        table("warnings", ("warning",), [(warning,) for warning in found.warnings]),
    ]


def _model_record(model: ModelSummary) -> tuple[Any, ...]:
    person, beside, test = model.person, model.beside, model.beside.test
    tested = ("winning_rate", "advantage", "epsilon", "passed", "reason")
    return (
        person.rater.id, person.rater.name, person.rater.excluded, person.ratings, model.refused, beside.shared,
        person.mean, person.spread, beside.alpha_without, beside.alpha, beside.kappa,
        *(getattr(test, name, None) for name in tested), "; ".join(person.flags),
    )  # fmt: skip


def rating_plan_tables(made: RatingPlan, format: str) -> tuple[list[Table], tuple[str, ...]]:  # noqa: A002
    """Return which references to rate next, and for people the effect on the interval."""
    if format in FOR_PROGRAMS:
        widths = [
            (name, getattr(made, name)) for name in ("width", "wanted", "planned", "same_raters", "least", "ratings")
        ]
        head = Table("", [Column(name) for name, _ in widths], [[value for _, value in widths]], name="plan")
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
