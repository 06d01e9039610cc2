"""Computes a study's metrics, a user's own among them: one value an output, and apart from these one a system."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from analysis.answers.reading import read_raw
from analysis.metrics.scores import Metric, MetricScores, MetricSettings, SystemTexts, mean
from spa.errors import AnalysisError, how_to_install
from spa.media import medium_of
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.output_language import language_of
from spa.tables.options import TableOptions
from spa.tables.reading import ENDINGS, table_suffix

COLUMNS = ("item_id", "system", "score")
FAILURES = (  # of a user's code
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError,
    SyntaxError, TypeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A metric, or several of one library, and what it needs."""

    module: str  # of this package; the function has the metric's name
    libraries: tuple[str, ...] = ()
    extra: str = "metrics"
    references: bool = False
    sources: bool = False
    english: bool = False
    model: bool = False  # a model on this machine, which a setting names


KINDS: Mapping[str, Kind] = {
    "rouge": Kind(module="rouge", libraries=("rouge_score",), references=True, english=True),
    "bleu": Kind(module="sacrebleu_scores", libraries=("sacrebleu",), references=True),
    "chrf": Kind(module="sacrebleu_scores", libraries=("sacrebleu",), references=True),
    "ter": Kind(module="sacrebleu_scores", libraries=("sacrebleu",), references=True),
    "sari": Kind(module="sari", libraries=("sacrebleu",), references=True, sources=True),
    "errant": Kind(
        module="errant_scores",
        libraries=("errant", "spacy"),
        extra="errant",
        references=True,
        sources=True,
        english=True,
    ),
    "bertscore": Kind(
        module="bertscore", libraries=("transformers", "torch"), extra="local", references=True, model=True
    ),
    "length": Kind(module="surface"),
    "readability": Kind(module="surface", english=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedMetrics:
    """The table ``metrics`` and that of whole systems, and a line on all that was left out."""

    scores: pl.DataFrame  # item_id, system, metric, score, higher_is_better, signature
    corpus: pl.DataFrame  # system, metric, score, n_outputs, higher_is_better, signature
    notes: tuple[str, ...]


def compute_metrics(
    study: Study,
    outputs: Outputs,
    names: Sequence[str],
    settings: MetricSettings,
    *,
    own: Mapping[str, str] | None = None,
    lower_is_better: frozenset[str] = frozenset(),
    step: Callable[[str], None] = lambda name: None,
) -> ComputedMetrics:
    """Compute metrics of all systems that are compared.

    Parameters
    ----------
    names : sequence of str
        Of :data:`KINDS`; none: all that can be computed here, with a note on each other one.
    own : mapping of str to str
        Own metrics: name -> file of scores, or ``module:function``.
    lower_is_better : frozenset of str
        Own metrics of which a lower score is better.
    step : callable
        Called with the name of each metric that is begun.

    Returns
    -------
    ComputedMetrics
        An output's score is the mean over its samples. A system that is a reference has no score of metrics that need
        one, nor has an output of an item without a reference.

    Raises
    ------
    AnalysisError
        Where a metric that was named cannot be computed, or nothing can.
    """
    if not (medium := medium_of(study.outputs.kind)).is_text:
        many = medium.many
        raise AnalysisError(f"expected outputs that are texts, got {many}; metrics of {many} can come from a table")
    settings = replace(settings, language=settings.language or language_of(study, outputs))
    lacking = {name: why for name in names or KINDS if (why := _lacking(name, study, outputs, settings))}
    if lacking and names:
        raise AnalysisError(*lacking.values())
    notes = [*lacking.values(), *_notes(study, outputs)]
    if settings.language != study.language:
        notes.insert(0, f'outputs are read as "{settings.language}", the form as "{study.language}"')
    parts = [_Part(study, outputs, system.id, references=False) for system in study.compared]
    beside = [_Part(study, outputs, part.system, references=True) for part in parts]
    rows: list[tuple[_Part, MetricScores]] = []
    for name in [name for name in names or KINDS if name not in lacking]:
        step(name)
        metric: Metric = getattr(import_module(f"analysis.metrics.{KINDS[name].module}"), name)
        chosen = [part for part in (beside if KINDS[name].references else parts) if part.texts.outputs]
        try:
            rows += [(part, scores) for part in chosen for scores in metric(part.texts, settings)]
        except AnalysisError as error:
            if names:
                raise
            notes += [f"{name} is left out: {problem}" for problem in error.problems]
    for name, source in (own or {}).items():
        step(name)
        rows += _own(name, source, parts, higher_is_better=name not in lower_is_better)
    if not rows:
        raise AnalysisError(*notes, "no metric can be computed here")
    return ComputedMetrics(
        scores=pl.concat([_table(part, scores) for part, scores in rows]),
        corpus=pl.DataFrame([_corpus_row(part, scores) for part, scores in rows], infer_schema_length=None),
        notes=tuple(notes),
    )


class _Part:
    """The texts of one system, sample by sample, each with its item."""

    def __init__(self, study: Study, outputs: Outputs, system: str, *, references: bool) -> None:
        self.system = system
        texts = [one for item in outputs.items for one in outputs.of(item.item_id, system) if one.text]
        if references:
            texts = [one for one in texts if outputs.references.get(one.item_id) and not _is_reference(study, system)]
        self.items = [one.item_id for one in texts]
        self.texts = SystemTexts(
            outputs=[one.text or "" for one in texts],
            references=[outputs.references.get(item_id, ()) for item_id in self.items],
            sources=[outputs.item(item_id).text or "" for item_id in self.items],
        )


def _is_reference(study: Study, system: str) -> bool:
    return system in study.outputs.references


def _lacking(name: str, study: Study, outputs: Outputs, settings: MetricSettings) -> str | None:
    kind = KINDS[name]
    absent = [library for library in kind.libraries if find_spec(library) is None]
    if absent:
        return f"{name} is left out: {' and '.join(absent)} not installed; {how_to_install(kind.extra)}"
    if kind.references and not any(outputs.references.values()):
        do = "[outputs] references names columns with reference texts, or systems that are one"
        return f"{name} is left out: expected references, got none; {do}"
    if kind.sources and study.outputs.item_text is None:
        return f"{name} is left out: expected what systems were given, got no [outputs] item_text"
    if kind.sources and not (given := medium_of(study.outputs.item_kind)).is_text:
        return f"{name} is left out: expected texts that systems were given, got {given.many}"
    if kind.english and (settings.language or "en").split("-")[0] != "en":
        return (
            f'{name} is left out: expected English, got outputs in "{settings.language}" ([outputs] language says '
            "otherwise); bleu and chrf read any"
        )
    if kind.model and settings.bertscore_model is None:
        return f"{name} is left out: expected --bertscore-model FOLDER with a model on this machine, got none"
    return None


def _notes(study: Study, outputs: Outputs) -> list[str]:
    """Say which systems and items have no scores against references, and what several references mean."""
    if not outputs.references:
        return []
    notes = [
        f"{one.id} is a reference, so it is left out of metrics that need one"
        for one in study.compared
        if _is_reference(study, one.id)
    ]
    n_items = len(outputs.items)
    if without := sum(not texts for texts in outputs.references.values()):
        notes.append(f"{without} of {n_items} items have no reference and are left out of metrics that need one")
    if several := sum(len(texts) > 1 for texts in outputs.references.values()):
        notes.append(f"{several} of {n_items} items have several references; the signatures say how they count")
    return notes


def _own(name: str, source: str, parts: Sequence[_Part], *, higher_is_better: bool) -> list[tuple[_Part, MetricScores]]:
    if not is_table(source):
        metric = function_metric(name, source, higher_is_better=higher_is_better)
        return [(part, metric(part.texts, MetricSettings())[0]) for part in parts if part.texts.outputs]
    path = Path(source)
    known = read_scores(path)
    rows = []
    for part in parts:
        keys = [(item_id, part.system) for item_id in part.items]
        found = table_scores(name, path, keys, known, better=higher_is_better)
        rows += [] if found is None or not keys else [(part, found)]
    if not rows:
        raise AnalysisError(f"{source}: expected scores of this study's outputs, got none; check item_id and system")
    return rows


def _table(part: _Part, scores: MetricScores) -> pl.DataFrame:
    frame = pl.DataFrame({"item_id": part.items, "score": scores.values}, schema_overrides={"score": pl.Float64})
    averaged = frame.group_by("item_id", maintain_order=True).agg(pl.col("score").mean())
    return averaged.select(
        "item_id",
        pl.lit(part.system).alias("system"),
        pl.lit(scores.metric).alias("metric"),
        "score",
        pl.lit(scores.higher_is_better, dtype=pl.Boolean).alias("higher_is_better"),
        pl.lit(scores.signature).alias("signature"),
    )


def _corpus_row(part: _Part, scores: MetricScores) -> dict[str, str | float | bool | None]:
    return {
        "system": part.system,
        "metric": scores.metric,
        "score": scores.corpus,
        "n_outputs": len(scores.values),
        "higher_is_better": scores.higher_is_better,
        "signature": scores.signature,
    }


def is_table(source: str) -> bool:
    """Tell whether a metric's source is a file of scores rather than ``module:function``."""
    return table_suffix(source) is not None


def read_scores(path: Path) -> dict[tuple[str, str], float]:
    """Read the scores of outputs by item and system.

    Raises
    ------
    AnalysisError
        Where the file lacks a column, names an output twice, or a score is no number.
    """
    raw = read_raw(path, TableOptions(), frozenset(COLUMNS))
    absent = [column for column in COLUMNS if column not in raw.frame.columns]
    if absent:
        raise AnalysisError(f"{path}: expected columns {', '.join(COLUMNS)}, got no {', '.join(absent)}; name them so")
    scores: dict[tuple[str, str], float] = {}
    for number, (item_id, system, score) in zip(raw.numbers(), raw.frame.select(COLUMNS).iter_rows(), strict=True):
        if (item_id, system) in scores:
            expected = f"expected one score of an output, got another of item {item_id!r} by {system!r}"
            raise AnalysisError(f"{path}, row {number}: {expected}; remove one")
        scores[item_id, system] = _number(f"{path}, row {number}", score)
    return scores


def function_metric(name: str, source: str, *, higher_is_better: bool) -> Metric:
    """Import ``module:function``, from the working directory too, and return it as a metric.

    The function takes outputs, references (a list of texts an output, maybe empty) and sources (one an output), and
    returns a number an output. That of a system is the mean.

    Raises
    ------
    AnalysisError
        Where there is no such function, it fails, or it does not return so many finite numbers.
    """
    module, _, function = source.partition(":")
    expected = f"--metric {name}={source}: expected a file of scores ({ENDINGS}) or module:function"
    if not (module and function):
        raise AnalysisError(f"{expected}, got neither")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(module), function)
    except FAILURES as error:
        raise AnalysisError(f"{expected}, got {_told(error)}") from error
    finally:
        sys.path.pop(0)

    def metric(texts: SystemTexts, settings: MetricSettings) -> list[MetricScores]:
        try:
            given = list(found(list(texts.outputs), [list(refs) for refs in texts.references], list(texts.sources)))
        except FAILURES as error:
            raise AnalysisError(f"{source}: expected a list of scores, got {_told(error)}; correct it") from error
        if len(given) != len(texts.outputs):
            raise AnalysisError(f"{source}: expected {len(texts.outputs)} scores, one an output, got {len(given)}")
        return [_scores(name, [_number(source, one) for one in given], source, higher_is_better)]

    return metric


def table_scores(
    name: str, path: Path, keys: Sequence[tuple[str, str]], known: Mapping[tuple[str, str], float], *, better: bool
) -> MetricScores | None:
    """Return the scores of one system's outputs, ``None`` where the table lacks all of them.

    Raises
    ------
    AnalysisError
        Where it lacks some.
    """
    lacking = [key for key in keys if key not in known]
    if lacking and len(lacking) < len(keys):
        item_id, system = lacking[0]
        raise AnalysisError(
            f"{path}: expected a score of every output of {system!r}, got none of item {item_id!r} and "
            f"{len(lacking) - 1} more; add rows"
        )
    return None if lacking else _scores(name, [known[key] for key in keys], path.name, better)


def _scores(name: str, values: list[float], source: str, higher_is_better: bool) -> MetricScores:
    signature = f"own|{source}|mean of outputs"
    return MetricScores(
        metric=name, values=values, corpus=mean(values), higher_is_better=higher_is_better, signature=signature
    )


def _told(error: Exception) -> str:
    """Return what a user's code raised, and in which line of it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"


def _number(place: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if not abs(number) < float("inf"):
        raise AnalysisError(f"{place}: expected a finite number as score, got {value!r}")
    return number
