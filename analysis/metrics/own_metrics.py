"""A user's own metric: a table of scores, or a Python function."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from analysis.answers.reading import read_raw
from analysis.metrics.scores import Metric, MetricScores, MetricSettings, SystemTexts, mean
from spa.errors import AnalysisError
from spa.tables.options import TableOptions
from spa.tables.reading import ENDINGS, table_suffix

COLUMNS = ("item_id", "system", "score")
FAILURES = (  # of a user's code
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError,
    SyntaxError, TypeError, ValueError,
)  # fmt: skip


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
