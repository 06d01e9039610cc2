"""Comparisons of each source, group and criterion, with what is known of the two outputs, or of those read before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.answers.input import AnalysisInput
from analysis.answers.order import Order
from analysis.answers.output_features import CHARACTERS, MARKS, OUTPUT, WORD_COUNT, features_of
from analysis.comparisons.choice_cells import choice_cells, choice_judgements
from analysis.comparisons.preferences import Comparisons, combine, direct, unit_numbers
from analysis.statistics.coding import Floats, fold
from analysis.strengths.strength_table import Compared, Judgements

ASSIGNMENT = ("assignment_id", "exposure", "system")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Controlled:
    """Comparisons of one source, group and criterion; ``features`` are those of x less those of y, a column each.

    They are NaN where something is not known. ``known`` says whether it is known which outputs were judged.
    """

    source: Compared
    group: str
    criterion: str
    systems: tuple[str, ...]
    judgements: Judgements
    features: Floats
    known: bool = True


def scaled_features(prepared: AnalysisInput, columns: Sequence[str]) -> tuple[pl.DataFrame | None, dict[str, float]]:
    """Return the covariates of each output in the units of their effects, and the size of a unit.

    Of a length it is a doubling (an empty output counts as one word), of marks the first one, then each time that one
    more than twice as many stand there; of other columns a standard deviation over all outputs. Characters are counted.
    """
    found = features_of(prepared.tables.outputs, prepared.tables.metrics, columns)
    sizes = dict.fromkeys(columns, 1.0)
    if found is None:
        return None, sizes
    scaled = []
    for name in columns:
        if name not in found.columns:
            scaled.append(pl.lit(None, dtype=pl.Float64).alias(name))
        elif name == CHARACTERS:
            scaled.append(pl.col(name))
        elif name == WORD_COUNT:
            scaled.append(pl.col(name).clip(lower_bound=1.0).log(2).alias(name))
        elif name in MARKS:
            scaled.append((pl.col(name) + 1).log(2).alias(name))
        else:
            sizes[name] = _spread(found[name]) or 1.0
            scaled.append((pl.col(name) / sizes[name]).alias(name))
    return found.select(*OUTPUT, *scaled), sizes


def _spread(values: pl.Series) -> float:
    """Return the standard deviation of values, whose squares may be too large for a number, or 0."""
    largest = values.abs().max()
    if not isinstance(largest, float) or largest == 0:
        return 0.0
    spread = (values / largest).std(ddof=0)
    return largest * spread if isinstance(spread, float) else 0.0


def controlled_choices(
    prepared: AnalysisInput, features: pl.DataFrame | None, columns: Sequence[str]
) -> Iterator[Controlled]:
    """Yield the choices of each group and criterion."""
    if "choices" not in prepared.kept:
        return
    order = prepared.orders["choices"]
    table = prepared.kept["choices"].filter(pl.col("value").is_not_null())
    if table.is_empty():
        return
    differences = _differences(table, _by_sample(features, table, columns), columns)
    for cells in choice_cells(table, order):
        first = table["system_x"].gather(cells.row).cast(pl.String)
        sign = np.where(first == pl.Series([cells.systems[x] for x in cells.x.tolist()], dtype=pl.String), 1.0, -1.0)
        yield Controlled(
            source="choices",
            group=cells.group,
            criterion=cells.criterion,
            systems=cells.systems,
            judgements=choice_judgements(cells),
            features=differences[cells.row] * sign[:, None],
        )


def controlled_preferences(
    prepared: AnalysisInput, features: pl.DataFrame | None, columns: Sequence[str]
) -> Iterator[Controlled]:
    """Yield the preferences of each group and criterion: of a unit, pair and exposure, as strengths take them."""
    if "preferences" not in prepared.kept:
        return
    order = prepared.orders["preferences"]
    table = prepared.kept["preferences"].filter(pl.col("value").is_not_null())
    if table.is_empty():
        return
    tests = Comparisons(prepared.answers["preferences"], order)
    units = combine(direct(table, tests))
    test, forward = tests.numbers(table)
    differences = _differences(table, _by_assignment(features, prepared.tables.outputs_read, table, columns), columns)
    differences = differences * np.where(forward, 1.0, -1.0)[:, None]
    rows = fold(test, unit_numbers(table))
    averaged = np.column_stack([rows.mean(column) for column in differences.T] or [np.zeros((len(rows), 0))])
    yield from _by_criterion(prepared, order, tests, units.test, units.unit, units.value, averaged)


def _by_criterion(
    prepared: AnalysisInput,
    order: Order,
    tests: Comparisons,
    test: np.ndarray[tuple[int], np.dtype[np.int64]],
    unit: np.ndarray[tuple[int], np.dtype[np.int64]],
    won: Floats,
    features: Floats,
) -> Iterator[Controlled]:
    place = {system: number for number, system in enumerate(order.systems)}
    names = [tests.name(number) for number in range(len(tests.keys))]
    x, y = (np.array([place[str(name[side])] for name in names], dtype=np.int64) for side in (3, 4))
    llms = {group for group, kind in prepared.groups if kind == "llm"}
    for group, criterion in dict.fromkeys(name[:2] for name in names):
        own = np.array([name[:2] == (group, criterion) for name in names])[test]
        if not own.any():
            continue
        judgements = Judgements(
            x=x[test[own]],
            y=y[test[own]],
            won=won[own],
            unit="assignment" if group in llms else "annotator",
            of_unit=unit[own],
            item=None,
        )
        yield Controlled(
            source="preferences",
            group=group,
            criterion=criterion,
            systems=order.systems,
            judgements=judgements,
            features=features[own],
            known=prepared.tables.outputs_read is not None,
        )


def _differences(table: pl.DataFrame, beside: Sequence[pl.DataFrame], columns: Sequence[str]) -> Floats:
    """Return the covariates of system_x less those of system_y, a row an answer; NaN where either is not known."""
    x, y = (side.select(columns).to_numpy().astype(np.float64) for side in beside)
    found: Floats = x - y if len(columns) else np.zeros((table.height, 0))
    return found


def _by_sample(
    features: pl.DataFrame | None, table: pl.DataFrame, columns: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the covariates of both outputs of each answer.

    Where an answer does not say which of several samples it is about, they are averaged; where there is one output of
    an item and system, it is that.
    """
    if features is None:
        nothing = _nothing(table.height, columns)
        return nothing, nothing
    whole = features.group_by("item_id", "system").agg(*_means(columns), pl.len().alias("samples"))
    found = []
    for side in ("x", "y"):
        sample = f"sample_{side}" if f"sample_{side}" in table.columns else "sample"
        given = pl.coalesce(pl.col(sample), "sample") if "sample" in table.columns else pl.col(sample)
        keys = table.select(
            pl.col("item_id").cast(pl.String),
            pl.col(f"system_{side}").cast(pl.String).alias("system"),
            given.cast(pl.String).alias("sample"),
        )
        exact = keys.join(features, on=OUTPUT, how="left", maintain_order="left")
        mean = keys.join(whole, on=OUTPUT[:2], how="left", maintain_order="left")
        any_sample = pl.Series(mean["sample"].is_null() | (mean["samples"] == 1)).fill_null(False)
        found.append(
            pl.DataFrame(
                [
                    pl.select(pl.when(any_sample).then(mean[name]).otherwise(exact[name]).alias(name)).to_series()
                    for name in columns
                ]
            )
        )
    return found[0], found[1]


def _by_assignment(
    features: pl.DataFrame | None, read: pl.DataFrame | None, table: pl.DataFrame, columns: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the mean covariates of the outputs of both systems that were read before each answer."""
    if features is None or read is None:
        nothing = _nothing(table.height, columns)
        return nothing, nothing
    seen = read.join(features, on=OUTPUT, how="left").group_by(ASSIGNMENT).agg(*_means(columns))
    found = []
    for side in ("x", "y"):
        keys = table.select(
            pl.col("assignment_id").cast(pl.String),
            pl.col("exposure").cast(pl.Int64),
            pl.col(f"system_{side}").cast(pl.String).alias("system"),
        )
        found.append(keys.join(seen, on=ASSIGNMENT, how="left", maintain_order="left").select(columns))
    return found[0], found[1]


def _means(columns: Sequence[str]) -> Iterator[pl.Expr]:
    """Yield the mean of each column, null where a value is not known."""
    for name in columns:
        yield pl.when(~pl.col(name).is_null().any()).then(pl.col(name).mean()).alias(name)


def _nothing(height: int, columns: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({name: pl.Series([None], dtype=pl.Float64).new_from_index(0, height) for name in columns})
