"""Metrics by name: ``bleu``, ``dbleu-2[tokenize=chat]``, ``package.module:Class``; the purpose and needs of each."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu import metrics
from trubleu.errors import MissingExtraError, UsageError, nearest, shown
from trubleu.metrics.base import Metric
from trubleu.metrics.defaults import WITHOUT_VECTORS
from trubleu.user_code import import_user_module, mistake

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Entry(NamedTuple):
    """A metric and its description.

    Attributes
    ----------
    factory
        The name of its class in `trubleu.metrics`.
    purpose
        What people use it for, in a few words.
    implied
        Options that the name stands for.
    extra
        The extra of this package that it needs unless told otherwise.
    """

    factory: str
    purpose: str
    implied: Mapping[str, Any] = {}
    extra: str | None = None

    def load(self) -> Callable[..., Metric]:
        """Return the class."""
        found: Callable[..., Metric] = getattr(metrics, self.factory)
        return found


_RECALL: Final = {"recall": True}

ENTRIES: Final[dict[str, Entry]] = {
    "trubleu": Entry("TruBleu", "recommended: any task, rated references or not", extra="ready"),
    "trubleu-ctx": Entry("TruBleuCtx", "short texts, many wordings: words in context", extra="context"),
    "bleu": Entry("Bleu", "the usual corpus score; equals sacreBLEU"),
    "sbleu": Entry("SentenceBleu", "single segments: mean sentence-level BLEU"),
    "dbleu": Entry("DeltaBleu", "ΔBLEU: BLEU with rated references"),
    "sdbleu": Entry("SentenceDeltaBleu", "single segments: mean sentence-level ΔBLEU"),
    "ibleu": Entry("IBleu", "paraphrases: BLEU minus source overlap"),
    "nist": Entry("Nist", "translation: rare n-grams count more"),
    "cider": Entry("Cider", "image captions: tf-idf similarity"),
    "cider-d": Entry("CiderD", "the usual CIDEr, robust to repetition"),
    "bleu2vec": Entry("Bleu2Vec", "BLEU with partial credit for near misses", extra="ready"),
    "bleu2vec-f": Entry("Bleu2Vec", "bleu2vec with recall, no brevity penalty", _RECALL, "ready"),
    "dbleu2vec": Entry("DeltaBleu2Vec", "ΔBLEU with partial credit for near misses", extra="ready"),
    "dbleu2vec-f": Entry("DeltaBleu2Vec", "dbleu2vec with recall, no brevity penalty", _RECALL, "ready"),
    "chrf": Entry("ChrF", "rich morphology: character n-grams"),
    "chrf++": Entry("ChrF", "chrF with words and word bigrams", {"word_order": 2}),
    "lebleu": Entry("LeBleu", "rich morphology: BLEU by spelling"),
    "meteor": Entry("Meteor", "English segments: words, stems, synonyms", extra="meteor"),
    "rouge": Entry("Rouge", "summaries: words or n-grams in common"),
    "rouge-l": Entry("RougeL", "summaries: words in the same order"),
    "rouge-lsum": Entry("RougeLsum", "summaries of several sentences, one per line"),
    "ter": Entry("Ter", "translation edit rate"),
    "distinct": Entry("Distinct", "diversity: different n-grams of all outputs"),
    "self-bleu": Entry("SelfBleu", "diversity: how alike the outputs are"),
}

ALIASES: Final = {
    "chrf2": "chrf",
    "chrf2++": "chrf++",
    "dist": "distinct",
    "rougel": "rouge-l",
    "rougelsum": "rouge-lsum",
    "sacrebleu": "bleu",
    "selfbleu": "self-bleu",
}
"""Alternative names of metrics."""

LEARNED: Final = {
    "comet": "comet-score … --to_json FILE",
    "xcomet": "comet-score … --model Unbabel/XCOMET-XL --to_json FILE",
    "cometkiwi": "comet-score … --model Unbabel/wmt22-cometkiwi-da --to_json FILE",
    "metricx": "python -m metricx24.predict … --output_file FILE",
    "bertscore": "bert-score -s … > FILE",
    "bleurt": "python -m bleurt.score_files … -scores_file=FILE",
    "bartscore": "BARTScore's own script, and write one number per line",
    "moverscore": "MoverScore's own script, and write one number per line",
    "prism": "prism.py … --segment-level > FILE",
    "yisi": "YiSi, and write one number per line",
    "gemba": "GEMBA, and write one number per line",
}
"""Metrics that other programs compute, by their names without signs, and how."""

OTHER_OPTIONS: Final = {
    "smooth_method": "smoothing",
    "smooth": "smoothing",
    "smooth_value": "smoothing_value",
    "max_ngram_order": "order",
    "ngram_order": "order",
    "tok": "tokenize",
    "tokenizer": "tokenize",
    "lc": "lowercase",
    "lower": "lowercase",
    "use_effective_order": "effective_order",
}
"""Names of options in sacreBLEU and elsewhere."""

# Some names contain hyphens; an unknown name must also match, to report that there is no such metric.
_NAMES: Final = "|".join(re.escape(name) for name in sorted([*ENTRIES, *ALIASES], key=len, reverse=True))
_SPEC: Final = re.compile(
    rf"(?P<name>{_NAMES}|[a-z]+(?:2vec)?\+*)(?:-(?P<order>-?\d+)|(?P<glued>\d+))?(?:\[(?P<options>.*)\])?", re.DOTALL
)
_OWN: Final = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)(?:\[(?P<options>.*)\])?", re.DOTALL)


def names() -> tuple[str, ...]:
    """Return the names of all metrics, without orders."""
    return tuple(ENTRIES)


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A parsed metric name: its factory and options.

    Attributes
    ----------
    text
        What was written.
    factory
        The class.
    options
        The options in brackets, and the order.
    """

    text: str
    factory: Callable[..., Metric]
    options: Mapping[str, Any] = field(default_factory=dict)

    def accepts(self, option: str) -> bool:
        """Return whether the metric has this option and it was not given in brackets."""
        return option in _options_of(self.factory) and option not in self.options

    def build(self, **options: Any) -> Metric:
        """Create the metric, with additional options."""
        known = _options_of(self.factory)
        for option in options:
            if option in self.options:
                raise UsageError(f"{option} is given twice, in {self.text} and beside it; give it once")
        for option in {**self.options, **options}:
            if option not in known:
                ours = OTHER_OPTIONS.get(option)
                hint = f"it is called {ours}= here" if ours in known else nearest(option, known)
                raise UsageError(f"{self.text} has no option {option}; {hint}")
        try:
            built = self.factory(**{**self.options, **options})
        except MissingExtraError as error:
            if "vectors" not in known:
                raise
            other = f"use {WITHOUT_VECTORS}, which needs no vectors (on the command line: -m {WITHOUT_VECTORS})"
            raise MissingExtraError(f"{error}, or {other}") from error
        except TypeError as error:  # such as a missing argument
            raise UsageError(f"{self.text} is not a metric, or needs more options: {error}") from error
        if not isinstance(built, Metric):
            raise UsageError(f"{self.text} is not a metric; name a class that is derived from trubleu.Metric")
        return built


def is_metric(text: str) -> bool:
    """Return whether this is the name of a built-in metric, with or without order and options.

    Examples
    --------
    >>> is_metric("chrF"), is_metric("bleu4"), is_metric("system.txt")
    (True, True, False)
    """
    return _named(text) is not None


def is_error_rate(text: str) -> bool:
    """Return whether this is the name of a built-in metric for which lower is better; nothing is imported by name.

    Examples
    --------
    >>> is_error_rate("TER"), is_error_rate("self-bleu-2"), is_error_rate("bleu"), is_error_rate("package.module:Class")
    (True, True, False, False)
    """
    entry = _named(text)
    return entry is not None and not getattr(entry.load(), "higher_is_better", True)


def _matched(text: str) -> tuple[re.Match[str] | None, str]:
    """Return the parts of a metric as it was written, and its name, of which case does not matter."""
    head, bracket, rest = text.partition("[")
    written = _SPEC.fullmatch(head.lower() + bracket + rest)
    return written, ALIASES.get(written["name"], written["name"]) if written else ""


def _named(text: str) -> Entry | None:
    """Return the built-in metric that a text names, if it names one."""
    return ENTRIES.get(_matched(text)[1])


def metric(spec: str | Metric | Callable[..., Any], **options: Any) -> Metric:
    """Create a metric from its name and options.

    Parameters
    ----------
    spec
        ``name``, ``name-N`` for another order than the usual one, ``name-N[option=value,…]``, or
        ``package.module:Class`` or ``package.module:function``. Case does not matter, and ``bleu4`` is ``bleu-4``. A
        metric is returned as it is; a function of an output and its references becomes one (`FunctionMetric`).
    options
        The metric's options by name.

    Examples
    --------
    >>> metric("dbleu-2", tokenize="chat").name
    'dbleu-2'
    >>> metric("bleu[smoothing=floor,smoothing_value=0.01]").smoothing_value
    0.01
    >>> metric(lambda output, references: 100.0 * (output in references), name="exact").name
    'exact'
    """
    if isinstance(spec, Metric):
        if options:
            raise UsageError("options go with a metric's name; this one is made already")
        return spec
    if not isinstance(spec, str):
        from trubleu.metrics.functions import FunctionMetric, is_function_metric

        if is_function_metric(spec):
            return FunctionMetric(spec, **options)
        raise UsageError(
            f"a metric is a name such as bleu-4, a Metric, or a function of an output and its references, not "
            f"{shown(spec)}"
        )
    return parse(spec).build(**options)


def parse(text: str) -> MetricSpec:
    """Parse a metric name."""
    if own := _OWN.fullmatch(text):
        return MetricSpec(text, _load(text, own["module"], own["name"]), _read_options(text, own["options"], {}))
    written, name = _matched(text)
    plain = re.sub(r"[^a-z]", "", text.lower())
    if (written is None or name not in ENTRIES) and (learned := max(filter(plain.count, LEARNED), key=len, default="")):
        raise UsageError(
            f"{text} is a learned metric, which its own program computes: run {LEARNED[learned]}, "
            f"and give the scores with --scores {learned}=FILE"
        )
    if written is None:
        hint = nearest(re.sub(r"[^a-z+]", "", text.lower()), ENTRIES)
        raise UsageError(f"{text!r} is not a metric; write a name such as bleu-4 or dbleu-2[tokenize=chat]; {hint}")
    entry, order, options_text = _entry(name), written["order"] or written["glued"], written["options"]
    text = name + (f"-{order}" if order else "") + ("" if options_text is None else f"[{options_text}]")
    factory = entry.load()
    known = _options_of(factory)
    options = _read_options(text, options_text, known)
    for option in entry.implied:
        if option in options:
            raise UsageError(f"{name} settles {option}; leave it out of {text}, or use another metric")
    options = {**entry.implied, **options}
    if order is not None:
        if "order" not in known:
            raise UsageError(f"{name} has no order; write {name}")
        if "order" in options:
            raise UsageError(f"the order is given twice in {text}; give it once")
        options["order"] = int(order)
    return MetricSpec(text, factory, options)


def _load(text: str, module: str, name: str) -> Callable[..., Metric]:
    """Import a user-defined metric."""
    try:
        found = getattr(import_user_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is not None and (f"{module}.").startswith(f"{error.name}."):
            raise UsageError(f"{text} cannot be loaded: there is no module {error.name} here or installed") from error
        raise UsageError(f"{text} cannot be loaded: {mistake(error) or error}") from error
    except AttributeError as error:
        if (what := mistake(error)) is not None:
            raise UsageError(f"{text} cannot be loaded: {what}") from error
        raise UsageError(f"{text} cannot be loaded: the module {module} has no {name}") from error
    except Exception as error:  # whatever the user's code raises
        raise UsageError(f"{text} cannot be loaded: {mistake(error) or repr(error)}") from error
    if not callable(found):
        raise UsageError(
            f"{text} is neither a class derived from trubleu.Metric nor a function of an output and its references"
        )
    from trubleu.metrics.functions import FunctionFactory, is_function_metric

    factory: Callable[..., Metric] = FunctionFactory(found, name) if is_function_metric(found) else found
    return factory


def _options_of(factory: Callable[..., Metric]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(factory).parameters)
    except ValueError:  # classes written in C may have no signature
        return {}


def _read_options(text: str, written: str | None, known: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for part in written.split(",") if written and written.strip() else ():
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise UsageError(f"{part.strip()!r} in {text} is not an option; write option=value, separated by commas")
        if name in options:
            raise UsageError(f"{name} is given twice in {text}; give it once")
        options[name] = _read_value(text, name, value, known.get(name))
    return options


def _read_value(text: str, name: str, value: str, parameter: inspect.Parameter | None) -> object:
    """Convert a value to the option's annotated type; without annotation, guess it."""
    annotation = str(parameter.annotation) if parameter is not None else ""
    lowered = value.lower()
    if lowered in ("true", "yes", "false", "no") and (not annotation or "bool" in annotation):
        return lowered in ("true", "yes")
    try:
        if "int" in annotation or (not annotation and re.fullmatch(r"[+-]?\d+", value)):
            return int(value)
        if "float" in annotation or (
            not annotation and re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+|\d+)(e[+-]?\d+)?", lowered)
        ):
            return float(value)
    except ValueError:
        raise UsageError(f"{name}={value} in {text} must be a number") from None
    if "bool" in annotation:
        raise UsageError(f"{name}={value} in {text} must be true or false")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDescription:
    """Description of a metric for users.

    Attributes
    ----------
    name
        The name, without an order.
    purpose
        What it is for, in a few words.
    order
        The longest n-grams if none are asked for with ``name-N``; None if it takes no such number.
    needs
        What it needs beside outputs and references, or does its work with: ``weights``, ``source``, ``vectors``,
        ``all segments at once`` (or a corpus in their place), and extras of this package such as ``trubleu[ready]``.
    higher_is_better
        False for error rates.
    options
        What may stand in brackets behind the name, with what holds if it is left out.
    """

    name: str
    purpose: str
    order: int | None
    needs: tuple[str, ...]
    higher_is_better: bool
    options: Mapping[str, Any] = field(default_factory=dict)


def describe(*names: str) -> tuple[MetricDescription, ...]:
    """Describe metrics and their requirements: some by name, or all.

    Parameters
    ----------
    names
        As `trubleu.metrics.names` lists them; none for all.

    Raises
    ------
    UsageError
        If there is no metric of a name.

    Examples
    --------
    >>> [found] = describe("dbleu")
    >>> found.order, found.needs, found.higher_is_better
    (4, ('weights',), True)
    """
    return tuple(_described(name, _entry(name)) for name in names or ENTRIES)


def _entry(name: str) -> Entry:
    if name not in ENTRIES:
        raise UsageError(f"there is no metric {name!r}; {nearest(name, ENTRIES)}")
    return ENTRIES[name]


def _described(name: str, entry: Entry) -> MetricDescription:
    factory: Any = entry.load()
    options = {name: each.default for name, each in _options_of(factory).items() if name not in entry.implied}
    order = options.pop("order", None)
    needs = {
        "weights": factory.uses_weights,
        "source": factory.needs_source,
        "vectors": "vectors" in options,
        "all segments at once": "corpus" in options or factory.among_outputs,
        f"trubleu[{entry.extra}]": entry.extra is not None,
    }
    return MetricDescription(
        name=name,
        purpose=entry.purpose,
        order=order,
        needs=tuple(need for need, needed in needs.items() if needed),
        higher_is_better=factory.higher_is_better,
        options=options,
    )


def metrics_by_name(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Metric]:
    """Create metrics from names and options; also used on workers."""
    return {text: parse(text).build(**given) for text, given in settings.items()}
