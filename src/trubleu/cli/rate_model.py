"""``trubleu rate model``: a language model rates the items of a study."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING

from trubleu.cli import arguments as add
from trubleu.cli.options import picked, say
from trubleu.cli.rate_study import opened, study_command
from trubleu.errors import EndpointError, UsageError, counted
from trubleu.progress import Bars

if TYPE_CHECKING:
    import argparse

    from trubleu.rating.model_rater import ModelOptions, ModelPlan


def add_model_parser(commands: add.Commands) -> None:
    """Add ``rate model``."""
    parser = study_command(commands, "model", rate)
    add.option(parser, "--url", "URL", "the endpoint, such as https://HOST/v1", required=True)
    add.option(parser, "--model", "NAME", "name of the model at the endpoint", required=True)
    add.option(parser, "--share", "P", "share of the items to rate, from 0 to 1", 1.0)
    add.option(parser, "--repeat", "N", "answers per item, which are averaged", 1)
    add.flag(parser, "--logprobs", "use the expected score under the probabilities of the answer's tokens")
    add.option(parser, "--temperature", "T", "sampling temperature (default: 0; 1 with --repeat)", type=float)
    add.option(parser, "--seed", "N", "random seed of --share; sent to the server if not 0", 0)
    add.option(parser, "--concurrency", "N", "concurrent requests", 8)
    add.option(parser, "--timeout", "S", "seconds to wait for an answer", 60.0)
    add.option(parser, "--answer-tokens", "N", "maximum tokens per answer; reasoning models need thousands", 512)
    add.option(parser, "--budget", "TOKENS", "stop this run after about this many tokens", type=int)
    parser.add_argument(
        "--price",
        type=float,
        nargs=2,
        metavar=("IN", "OUT"),
        help="prices per million tokens, for --dry-run",
    )
    add.flag(parser, "--dry-run", "print items, tokens and cost, and send nothing")
    add.option(parser, "--send-to", "HOST", "confirm that texts may be sent to this host")
    add.quiet(parser, "no output and no progress bar")


def rate(options: argparse.Namespace) -> None:
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

        names = "url model share repeat logprobs temperature seed concurrency timeout budget answer_tokens"
        asked = ModelOptions(key=os.environ.get("OPENAI_API_KEY", "").strip(), **picked(options, names))
        plan = plan_model(study, asked)
        if options.dry_run:
            say(*_estimate(plan, asked, options.price))
            return
        _confirm(options.send_to, asked, plan.items)
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


def _confirm(host: str | None, options: ModelOptions, items: int) -> None:
    """Ask for confirmation before texts leave this machine."""
    if host is not None and host.lower() != options.host:
        raise UsageError(f"--send-to {host} is not the host of --url, {options.host}; nothing was sent")
    if host is not None or options.is_local or not items:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write(f"Send the texts of {counted(items, 'item')} to {options.host}? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
        raise UsageError(f"nothing was sent to {options.host}")
    raise UsageError(f"texts would be sent to {options.host}; add --send-to {options.host} if they may")
