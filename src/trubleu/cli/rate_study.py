"""``trubleu rate`` on an existing study: status, audit, export, import, links, model, exclude, erase, pause."""

from __future__ import annotations

import csv
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trubleu.cli import arguments as add
from trubleu.cli.options import check_range, picked, say, write_tables
from trubleu.errors import DataError, EndpointError, StoreError, UsageError, counted, nearest, some
from trubleu.files.writer import check_writable
from trubleu.optional_deps import needed
from trubleu.progress import Bars
from trubleu.render.tables import FOR_PROGRAMS, one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from trubleu.rating import NewRater, Study
    from trubleu.rating.model_rater import ModelOptions, ModelPlan


_LOCAL: Final = "http://127.0.0.1:8000"


WHATS: Final = ("references", "ratings", "rankings", "wide", "raw", "mturk-tasks")
"""Kinds of `trubleu.rating.export`, repeated so ``--help`` need not import it (a test keeps them equal)."""

WEIGHTS_FROM: Final = ("people", "joint", "model")
"""As in `trubleu.rating.export`."""

LAYOUTS: Final = ("table", "mturk")
"""As in `trubleu.rating.imports`."""


def check_packages() -> None:
    """Raise an error with the command to install missing packages."""
    for package in ("sqlalchemy", "yaml", "pydantic"):
        needed(package, "a rating study", "trubleu[rate]")


def opened(folder: str, *, sync: bool = False, copy: bool = False, check: bool = True) -> Study:
    """Open a study: ``sync`` updates it to its settings, for serving; ``copy`` opens a copy, for reading."""
    check_packages()
    from trubleu.rating import Study

    return Study.open(folder, sync=sync, copy=copy, check=check)


def study_command(commands: add.Commands, name: str, run: add.Run, epilog: str = "") -> argparse.ArgumentParser:
    """Add a command on an existing study."""
    parser = add.command(commands, name, run, epilog or f"examples:\n  trubleu rate {name} my-study\n")
    parser.add_argument("study", metavar="STUDY", help="the folder of the study")
    return parser


def add_parsers(commands: add.Commands) -> None:
    """Add the commands."""
    parser = study_command(commands, "links", links)
    add.option(parser, "--add", "N", "number of raters to add", type=int)
    add.option(parser, "--labels", "FILE", "a file with one rater name per line")
    add.option(parser, "--renew", "RATER", "replace the link of this rater; the old one stops working")
    about = f"public address of the pages (default: that of the last rate serve, else {_LOCAL})"
    add.option(parser, "--url", "URL", about)
    add.option(parser, "--out", "FILE", "a new .csv file (default: standard output)", "-")

    parser = study_command(commands, "status", status)
    add.option(parser, "--resamples", "N", "resamples for the interval of α", 1000)
    about = (
        "margin by which a model may be worse than a person: 0.1 for crowd workers, 0.15 for trained raters, 0.2 for "
        "experts"
    )
    add.option(parser, "--epsilon", "E", about, 0.1)
    add.output(parser)

    study_command(commands, "audit", audit)

    parser = study_command(commands, "export", export)
    add.option(parser, "--as", "NAME", ", ".join(WHATS), dest="what", choices=WHATS, required=True)
    about = (
        "references: .jsonl; ratings: .csv, .tsv, .jsonl, .parquet; wide, raw: .csv, .tsv, .jsonl; rankings: .csv, "
        ".tsv; mturk-tasks: .csv (default: standard output, as JSON lines or CSV)"
    )
    add.option(parser, "--out", "FILE", about, "-")
    add.flag(parser, "--labels", "name raters by their labels instead of their numbers")
    about = (
        "weights of references: people (default); joint: people's, else a model's, calibrated on "
        "the texts that both rated; model: a model's alone"
    )
    add.option(parser, "--weights", "NAME", about, WEIGHTS_FROM[0], choices=WEIGHTS_FROM)
    add.option(parser, "--model", "NAME", "name or number of the model, if several have rated")
    add.flag(parser, "--unverified", "with --weights model: export unchecked weights, and mark them")
    add.quiet(parser)

    parser = study_command(commands, "import", bring_in)
    parser.add_argument("file", metavar="FILE", help="CSV, TSV, JSON lines or Parquet; CSV for Mechanical Turk")
    add.columns(parser, "item=id,score=rating")
    add.option(parser, "--as", "NAME", "table (default) or mturk", LAYOUTS[0], dest="layout", choices=LAYOUTS)
    add.quiet(parser)

    for name, run, example in (
        ("exclude", exclude, '7 --reason "fails gold items"'),
        ("readmit", readmit, '7 --reason "the gold items were wrong"'),
        ("erase", erase, "7"),
    ):
        parser = study_command(commands, name, run, f"examples:\n  trubleu rate {name} my-study {example}\n")
        parser.add_argument("rater", metavar="RATER", help="number or label of the rater")
        if run is not erase:
            add.option(parser, "--reason", "TEXT", "the reason; it stays in the log, so name nobody", required=True)
    parser = study_command(commands, "model", model)
    add.option(parser, "--url", "URL", "the endpoint, such as https://HOST/v1", required=True)
    add.option(parser, "--model", "NAME", "name of the model at the endpoint", required=True)
    add.option(parser, "--share", "P", "share of the items to rate, from 0 to 1", 1.0)
    add.option(parser, "--repeat", "N", "answers per item, which are averaged", 1)
    add.flag(parser, "--reason", "ask for a reason in one sentence, which the lead sees")
    add.flag(parser, "--logprobs", "use the expected score under the probabilities of the answer's tokens")
    add.option(parser, "--temperature", "T", "sampling temperature (default: 0; 1 with --repeat)", type=float)
    add.option(parser, "--seed", "N", "random seed of --share; sent to the server if not 0", 0)
    add.option(parser, "--concurrency", "N", "concurrent requests", 8)
    add.option(parser, "--timeout", "S", "seconds to wait for an answer", 60.0)
    add.option(parser, "--answer-tokens", "N", "maximum tokens per answer; reasoning models need thousands", 512)
    add.option(parser, "--budget", "TOKENS", "stop this run after about this many tokens", type=int)
    about = "prices per million tokens, for --dry-run"
    parser.add_argument("--price", type=float, nargs=2, metavar=("IN", "OUT"), help=about)
    add.flag(parser, "--dry-run", "print items, tokens and cost, and send nothing")
    add.option(parser, "--send-to", "HOST", "confirm that texts may be sent to this host")
    add.quiet(parser, "no output and no progress bar")

    study_command(commands, "pause", pause)
    study_command(commands, "resume", resume)


def export(options: argparse.Namespace) -> None:
    """Write weighted references, ratings or the log.

    Export the data of a study. references: weighted references for trubleu score. ratings: one row per rating, for
    trubleu judge and trubleu triples split. rankings: one row per pair of ranked outputs, for trubleu judge. wide: one
    row per answer, for spreadsheets. raw: the complete log. mturk-tasks: items that still lack ratings, for a batch of
    Mechanical Turk. Excluded raters, gold and practice items are left out, except from the log.

    Examples
    --------
    trubleu rate export my-study --as references --out refs.jsonl
    trubleu rate export my-pairs --as ratings --out ratings.csv
    trubleu rate export my-study --as raw --out log.jsonl
    trubleu rate export my-study --as mturk-tasks --out tasks.csv
    trubleu rate export my-study --as references --weights joint --out refs.jsonl
    """
    check_writable(options.out)
    with opened(options.study, copy=True) as study:
        from trubleu.rating.export import export_study

        made = export_study(study, options.what, options.out, **picked(options, "labels weights model unverified"))
    if options.quiet or options.out == "-":
        return
    rows = {
        "references": f"{counted(made.rows, 'segment')} with {counted(made.items, 'reference')}",
        "ratings": counted(made.rows, "rating"),
        "rankings": f"{counted(made.rows, 'pair')} of outputs from {counted(made.ratings, 'ranking')}",
        "wide": counted(made.rows, "answer"),
        "raw": f"{made.rows:,} entries of the log",
        "mturk-tasks": counted(made.rows, "task"),
    }
    from_ratings = f", weighted by {counted(made.ratings, 'rating')}" if options.what == "references" else ""
    if made.by_model:
        from_ratings = f", {made.by_model:,} of them weighted by a model"
    if made.calibration is not None:
        found = made.calibration
        from_ratings += (
            f", calibrated on {counted(found.texts, 'text')}: it explains {max(found.explained, 0.0):.0%} of the "
            f"variance of people's weights, standard error {found.error:.2f}"
        )
    sys.stdout.write(f"{options.out}: {rows[options.what]}{from_ratings}\n")


def bring_in(options: argparse.Namespace) -> None:
    """Add ratings collected elsewhere.

    Add ratings collected elsewhere: a table with the columns item, rater and score (for pairs also system and pair), or
    the results of a batch of Mechanical Turk. If one row is bad, nothing is added; importing a file again changes
    nothing.

    Examples
    --------
    trubleu rate import my-study ratings.csv
    trubleu rate import my-study Batch_123_results.csv --as mturk
    """
    with opened(options.study) as study:
        from trubleu.rating.imports import import_ratings

        found = import_ratings(study, options.file, layout=options.layout, columns=options.columns)
    if options.quiet:
        return
    said = f"{options.file}: {counted(found.answers, 'answer')}, {found.added:,} new, {found.counted:,} of them count"
    said += f"; {counted(found.items, 'item')}, {counted(found.raters, 'new rater')}"
    others = {"there already": found.repeated, "rejected": found.rejected, "without a score": found.blank}
    said += "".join(f"; {number:,} {what}" for what, number in others.items() if number)
    if found.excluded:
        said += f"; {counted(found.excluded, 'rater')} excluded by the rule on gold items"
    sys.stdout.write(said + "\n")


def status(options: argparse.Namespace) -> None:
    """Show progress, agreement, raters and weights.

    Show what the lead's page shows: progress, agreement, the ratings of each rater, the distribution of weights, and
    the texts that raters disagree on most.

    Examples
    --------
    trubleu rate status my-study
    trubleu rate status my-study --format json --out status.json
    """
    check_range(options, "resamples", 0, 1_000_000)
    check_range(options, "epsilon", 0, 1)
    with opened(options.study, copy=True) as study:
        from trubleu.rating.summary import summary
        from trubleu.render.rating import status_records, status_tables

        found = summary(study, study.now(), resamples=options.resamples, epsilon=options.epsilon)
    if options.format in FOR_PROGRAMS:
        write_tables(options, *status_records(found))
    else:
        write_tables(options, *status_tables(found), notes=(*found.warnings, *found.notes))


def audit(options: argparse.Namespace) -> None:
    """Check the store of a study.

    Verify the hashes of settings, items, raters and the log, and that every other table follows from the log. Other
    commands stop at the first fault of a store; this one lists all of them.
    """
    with opened(options.study, copy=True, check=False) as study:
        from trubleu.rating.audit import audit as faults_of

        faults = faults_of(study)
        name = study.store.name
        if not faults:
            entries = counted(len(study.log()), "entry").replace("entrys", "entries")
            there = f"{counted(len(study.items()), 'item')}, {counted(len(study.raters()), 'rater')}"
            say(f"{options.study}: {entries} in the log, {there}: all hashes are right, all tables match the log")
            return
    say(*faults)
    found = counted(len(faults), "fault")
    raise StoreError(f"{name} is damaged or was changed from outside: {found}; restore the study from a backup")


def links(options: argparse.Namespace) -> None:
    """Add raters, and print their links once.

    Add raters, each with a personal link. The links are shown only once, on standard output or in a file that only you
    can read: the study stores only their hashes.

    Examples
    --------
    trubleu rate links my-study --add 20 --url https://rate.example.org --out links.csv
    trubleu rate links my-study --labels names.txt
    trubleu rate links my-study --renew 7
    """
    from trubleu.files.lines import read_text_lines

    lines = [] if options.labels is None else read_text_lines(options.labels)
    labels = [line.strip() for line in lines if line.strip()]
    if options.labels is not None and not labels:
        raise UsageError(f"{options.labels} has no labels; write one per line")
    if (options.renew is not None) == (options.add is not None or bool(labels)):
        raise UsageError("rate links needs --add N or --labels FILE for new raters, or --renew RATER for a new link")
    check_packages()
    from trubleu.rating.config import check_url

    given = None if options.url is None else check_url(options.url)
    with opened(options.study) as study:
        url = given or study.store.get("url") or _LOCAL
        if options.renew is None:
            if not study.config.entry.links:
                raise UsageError(f"{study.folder / 'study.yaml'} allows no links; set entry: links: true there")
            _tell(options.out, url, lambda: study.add_raters(options.add or len(labels), labels=labels))
        else:
            from trubleu.rating import NewRater

            number = rater_number(study, options.renew)
            _tell(options.out, url, lambda: [NewRater(study.rater(number), study.new_link(number))])
    if url == _LOCAL and given is None and options.out != "-":
        sys.stderr.write(
            f"trubleu: warning: links lead to {_LOCAL}, because the study was not served yet; give --url if raters "
            "reach it elsewhere\n"
        )


def _tell(target: str, url: str, made: Callable[[], list[NewRater]]) -> None:
    """Write links to a private file, or print them; the file is created before any rater is added."""
    from trubleu.files.tables import guarded

    if target == "-":
        sys.stdout.write("".join(f"{one_line(each.rater.name)}\t{url}/r/{each.token}\n" for each in made()))
        return
    if not target.endswith(".csv"):
        raise UsageError(f"--out {target} must end in .csv")
    check_writable(target)
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise DataError(f"{target} already exists, and may hold links; choose another name") from error
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
            writer.writerow(["rater", "name", "link"])
            for each in made():
                writer.writerow([each.rater.id, guarded(each.rater.name), f"{url}/r/{each.token}"])
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        Path(target).unlink()
        raise


def rater_number(study: Study, name: str) -> int:
    """Return the number of a rater given by number or label.

    Raises
    ------
    UsageError
        If nobody, or more than one, is called so.
    """
    everybody = study.raters()
    if name.isascii() and name.isdecimal() and len(name) < 19:
        found = [rater for rater in everybody if rater.id == int(name)]
    else:
        found = [rater for rater in everybody if name in (rater.label, rater.name)]
    if not found:
        labels = [rater.label for rater in everybody if rater.label]
        hint = nearest(name, labels) if 0 < len(labels) <= 20 else "trubleu rate status lists them"
        raise UsageError(f"there is no rater {name!r} in {study.folder}; {hint}")
    if len(found) > 1:
        raise UsageError(f"{len(found)} raters are called {name!r}; give the number: {some(each.id for each in found)}")
    return found[0].id


def exclude(options: argparse.Namespace) -> None:
    """Stop counting a rater's ratings; other raters get the items that now lack ratings."""
    with opened(options.study) as study:
        person = study.exclude(rater_number(study, options.rater), reason=options.reason)
    say(f"{one_line(person.name)} (number {person.id}) is excluded, and the ratings no longer count")


def readmit(options: argparse.Namespace) -> None:
    """Count an excluded rater's ratings again, where items still lack ratings."""
    with opened(options.study) as study:
        person = study.readmit(rater_number(study, options.rater), reason=options.reason)
    say(f"{one_line(person.name)} (number {person.id}) is readmitted")


def erase(options: argparse.Namespace) -> None:
    """Erase a rater's identity.

    Permanently erase a rater's label, external id and link. The ratings are kept and still count.
    """
    with opened(options.study) as study:
        erased = study.erase(rater_number(study, options.rater))
    say(f"rater {erased.id}: the identity is erased, the ratings stay")
    if study.store.dialect == "postgresql":
        say(
            "PostgreSQL keeps old rows: let the owner of the tables run VACUUM (FULL, ANALYZE) raters; "
            "backups and archived WAL hold the identity as long as they are kept"
        )


def pause(options: argparse.Namespace) -> None:
    """Stop handing out tasks; answers to open tasks are still accepted."""
    with opened(options.study) as study:
        study.pause()
    say(f"{study.folder} is paused")


def resume(options: argparse.Namespace) -> None:
    """Hand out tasks again after a pause."""
    with opened(options.study) as study:
        study.resume()
    say(f"{study.folder} is running")


def model(options: argparse.Namespace) -> None:
    r"""Let a language model rate.

    Let a language model rate the items of a study, through any endpoint with OpenAI's API, with the study's own
    instructions, questions, scales and practice items. Its answers are logged as those of a model. They help to
    complete items only with models_count: true in study.yaml; rate status shows how far they can be trusted.

    Examples
    --------
    trubleu rate model my-study --url http://localhost:8000/v1 --model Qwen/Qwen3-8B --dry-run
    trubleu rate model my-study --url http://localhost:8000/v1 --model Qwen/Qwen3-8B --logprobs
    trubleu rate model my-study --url https://api.openai.com/v1 --model gpt-5-mini --send-to api.openai.com \
      --repeat 3 --answer-tokens 4000 --share 0.5 --budget 2000000

    Notes
    -----
    The API key is read from OPENAI_API_KEY. Ratings are stored at once; after an interruption, run the same command
    again to continue. It also retries items whose answers could not be used.
    """
    if not all(math.isfinite(price) and price >= 0 for price in options.price or ()):
        raise UsageError(f"--price must be two numbers from 0 on, not {options.price[0]:g} and {options.price[1]:g}")
    with opened(options.study, sync=not options.dry_run, copy=options.dry_run) as study:
        from trubleu.rating.model_rater import ModelOptions, plan_model, rate_with_model

        names = "url model share repeat reason logprobs temperature seed concurrency timeout budget answer_tokens"
        asked = ModelOptions(key=os.environ.get("OPENAI_API_KEY", "").strip(), **picked(options, names))
        plan = plan_model(study, asked)
        if options.dry_run:
            say(*_estimate(plan, asked, options.price))
            return
        if plan.items:
            asked.endpoint.confirm(options.send_to, counted(plan.items, "item"))
        with Bars(quiet=options.quiet) as bars:
            done = rate_with_model(study, asked, progress=bars.stage("rating", plan.items, "item"))
    if not options.quiet:
        said = f"{options.study}: {done.rater.name} (number {done.rater.id}) rated {counted(done.rated, 'item')}"
        if done.refused:
            said += f", {done.refused:,} refused"
        if done.before:
            said += f", {done.before:,} before"
        said += f"; {counted(done.requests, 'request')}, {counted(done.tokens, 'token')}"
        say(said, f"then: trubleu rate status {options.study}")
    if done.refused and not done.rated:
        raise EndpointError(f"no answer of {asked.host} to {counted(done.refused, 'item')} can be used: {done.problem}")


def _estimate(plan: ModelPlan, options: ModelOptions, price: list[float] | None) -> list[str]:
    lines = [
        f"host        {options.host}",
        f"items       {plan.items:,}" + (f" ({plan.rated:,} are rated already)" if plan.rated else ""),
        f"requests    {plan.requests:,}",
        f"tokens      about {plan.prompt_tokens:,} in, {plan.answer_tokens:,} out",
    ]
    total = plan.prompt_tokens + plan.answer_tokens
    if options.budget is not None and total > options.budget:
        share = options.budget / total
        lines.append(f"budget      {counted(options.budget, 'token')}: enough for about {share:.0%} of the items")
    if price is not None:
        cost = (plan.prompt_tokens * price[0] + plan.answer_tokens * price[1]) / 1e6
        lines.append(f"cost        about {cost:,.2f}" if cost >= 1 else f"cost        about {cost:.2g}")
    return lines
