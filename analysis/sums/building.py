"""Totals from the sums of all parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from analysis.answers.columns import Scale
from analysis.answers.input_files import InputFile
from analysis.statistics.coding import FEW, Ints
from analysis.statistics.record import AnnotatorKind, fields_of
from analysis.sums.adding import LISTED, MASS
from analysis.sums.clusters import of_single_values
from analysis.sums.grid import OVER, PART, TOGETHER, UNITS, Grid, Sums
from analysis.sums.totals import AnswerSums, AnswerTotals, RaterCounts, SummedKind, ValueTotals
from analysis.sums.weighing import SQUARED

NAMED = 10_000  # annotators up to which their names are kept


def build_totals(
    sums: Sums,
    *,
    kind: SummedKind,
    grid: Grid,
    groups: Sequence[tuple[str, AnnotatorKind]],
    names: pl.DataFrame | None,
    inputs: Sequence[InputFile],
    scales: Sequence[Scale],
) -> AnswerTotals:
    """Give numbers to annotators, assignments and items, and turn whole sums into those of scores.

    ``names`` gives the ``annotator_id`` of each key ``annotator``; ``None`` where there are too many.
    """
    keys = {unit: _keys(sums, unit) for unit in UNITS}
    if names is not None and len(keys["annotator"]) <= NAMED:
        own = names.filter(pl.col("annotator").is_in(keys["annotator"].tolist()))
        names = _numbered(own, "annotator", keys["annotator"]).sort("annotator")
    else:
        names = None
    found = build_sums(
        sums, kind=kind, grid=grid, groups=groups, scale=sums["extremes"], sampled=_sampled(sums["samples"], grid)
    )
    return AnswerTotals(
        **fields_of(found),
        missing=sums["missing"],
        missing_systems=sums["missing_systems"],
        seen=count_seen(sums),
        counted=count_answers(sums),
        columns=sums["columns"],
        repeated=sums["repeated"].height,
        stand_in=_numbered(sums["stand_in"], "annotator", keys["annotator"]),
        stand_in_units=sums["stand_in_units"],
        names=names,
        inputs=tuple(inputs),
        scales=tuple(scales),
    )


def build_sums(
    sums: Sums,
    *,
    kind: SummedKind,
    grid: Grid,
    groups: Sequence[tuple[str, AnnotatorKind]],
    scale: pl.DataFrame,
    sampled: frozenset[tuple[str, str]],
    numbers: Mapping[str, int] | None = None,
) -> AnswerSums:
    """Do the same of the answers alone; units whose keys are ``numbers`` below those given keep them.

    What is done with is taken out of ``sums``.
    """
    keys = {unit: np.arange(numbers[unit]) if numbers else _keys(sums, unit) for unit in UNITS}
    about = "scores" if kind == "ratings" else "pairs"
    units = {
        f"{of}_{unit}": in_order(_numbered(sums[f"{of}_{unit}"], unit, keys[unit]), "about", unit)
        for of in OVER
        for unit in UNITS
        if f"{of}_{unit}" in sums
    }
    for name in units:
        del sums[name]
    return AnswerSums(
        kind=kind,
        order=grid.order,
        groups=tuple(groups),
        scores=_value_totals(sums, "scores", keys, grid, units) if kind == "ratings" else None,
        pairs=_value_totals(sums, "pairs", keys, grid, units),
        counts=_counts(sums[f"{about}_counts"], about, grid),
        layout=sums["layout"].sort(PART),
        scale=scale,
        options=grid.options,
        sampled=sampled,
        sizes={unit: len(own) for unit, own in keys.items()},
    )


def _sampled(samples: pl.DataFrame, grid: Grid) -> frozenset[tuple[str, str]]:
    """Return the groups and criteria with several samples."""
    several = samples.group_by(PART).agg(pl.col("sample").n_unique() > 1).filter("sample")
    return frozenset((group, grid.order.criteria[grid.criteria[name]]) for group, name in several.select(PART).rows())


def count_seen(sums: Sums) -> pl.DataFrame:
    """Count annotators and assignments by group."""
    annotators = sums["seen"].group_by("group").agg(annotators=pl.len())
    assignments = sums["assigned"].group_by("group").agg(assignments=pl.len())
    return annotators.join(assignments, on="group", how="left").with_columns(pl.col("assignments").fill_null(0))


def count_answers(sums: Sums) -> RaterCounts:
    """Count answers by group and criterion, as for a table read whole."""
    times = sums["repeats"].filter(pl.col("repeat") != 0).group_by(PART).agg(n_repeats=pl.len())
    mass = {"mass_mean": pl.col("mass") / MASS / pl.col("n_mass"), "mass_min": -pl.col("least")}
    least = sums["extremes"].select(*PART, least="mass")
    counted = sums["counted"].join(times, on=PART, how="left").join(least, on=PART)
    known = {name: pl.when(pl.col("n_mass") > 0).then(own) for name, own in mass.items()}
    rows = counted.with_columns(pl.col("n_repeats").fill_null(1), **known).drop("n_mass", "mass", "least")
    return {(row.pop("group"), row.pop("criterion")): row for row in rows.to_dicts()}


def _keys(sums: Sums, unit: str) -> Ints:
    """Return all keys of a unit, ascending; their places are its numbers."""
    columns = [sums[name][unit] for name in (f"{about}_{unit}" for about in OVER) if name in sums]
    return np.unique(np.concatenate([(one if len(one) <= FEW else one.unique()).to_numpy() for one in columns]))


def _numbered(frame: pl.DataFrame, unit: str, keys: Ints) -> pl.DataFrame:
    if len(keys) and keys[0] == 0 and keys[-1] == len(keys) - 1:  # numbers already
        return frame
    return _with(frame, {unit: pl.Series(np.searchsorted(keys, frame[unit].to_numpy()).astype(np.int64))})


def _value_totals(sums: Sums, of: str, keys: Mapping[str, Ints], grid: Grid, units: Sums) -> ValueTotals:
    """Turn the sums of scores or pairs into those of scores; ``units`` are the sums of both by unit, sorted."""
    overall = sums[f"{of}_overall"]
    totals = zip(*(overall[name].to_list() for name in ("about", "total", "n")), strict=True)
    overall = _centred(overall, {about: Fraction(total, n) for about, total, n in totals})
    by_unit = {unit: units[f"{of}_{unit}"] for unit in TOGETHER.values()} | {"item": units.pop(f"{of}_item")}
    together = dict[str, pl.DataFrame]()
    for kind, unit in TOGETHER.items():
        if (own := sums.get(f"{of}_{kind}")) is None:
            clusters = of_single_values(by_unit[unit], unit)
        else:
            clusters = in_order(_numbered(own, unit, keys[unit]), "about", unit, "n")
        together[kind] = _about_equal_mean(clusters, by_unit[unit])
    for unit in TOGETHER.values() if "first" in by_unit["annotator"].columns else ():
        by_unit[unit] = _beside(by_unit[unit], units[f"scores_{unit}"], len(grid.order.systems))
    frames = {"overall": in_order(overall, "about"), **together, **by_unit}
    frames["weighed"] = _weighed(sums, of, keys)
    del clusters, by_unit, together, overall
    found = {name: in_scores(frames.pop(name), of, grid) for name in [*frames]}  # one at a time, as they are large
    return ValueTotals(**found)


def _with(frame: pl.DataFrame, columns: Mapping[str, pl.Series], without: Collection[str] = ()) -> pl.DataFrame:
    """Return a frame with some columns put in or left out; of few rows a tenth of what polars' plans take."""
    kept = {one.name: one for one in frame.iter_columns() if one.name not in without}
    return pl.DataFrame([one.alias(name) for name, one in (kept | dict(columns)).items()])


def in_order(frame: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Sort rows by whole numbers; ``about`` sorts by group, criterion and systems."""
    columns = [frame[name].to_numpy() for name in by]
    later = np.zeros(max(frame.height - 1, 0), dtype=np.bool_)
    for column in reversed(columns):
        later = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & later)
    return frame if later.all() else frame.sort(by)


def _large(column: pl.Series) -> pl.Series:
    return column.cast(pl.Int128)


def _middles(by_unit: pl.DataFrame) -> tuple[Ints, Ints]:
    """Return what values are about, ascending, and the mean of the units' means of each, as a whole multiple."""
    about, of = np.unique(by_unit["about"].to_numpy(), return_inverse=True)
    means = by_unit["total"].cast(pl.Float64).to_numpy() / by_unit["n"].to_numpy()
    middle = np.rint(np.bincount(of, weights=means) / np.bincount(of)) if len(about) else means
    return about, middle.astype(np.int64)


def _about_equal_mean(clusters: pl.DataFrame, by_unit: pl.DataFrame) -> pl.DataFrame:
    """Turn ``total`` and ``squares`` of ``clusters`` sums of ``n`` values into those of distances from the middle."""
    about, middles = _middles(by_unit)
    middle = _large(pl.Series(middles[np.searchsorted(about, clusters["about"].to_numpy())]))
    size, times, total = _large(clusters["n"]) * middle, _large(clusters["clusters"]), clusters["total"]
    squares = clusters["squares"] - (size + size) * total + times * size * size
    return _with(clusters, {"total": (total - times * size).cast(pl.Float64), "squares": squares.cast(pl.Float64)})


def _beside(by_unit: pl.DataFrame, scores: pl.DataFrame, k: int) -> pl.DataFrame:
    """Turn sums of the ratings of x and y that lie side by side into those of distances from the systems' middles.

    ``first`` and ``second`` add up the distances, ``squares_x`` and ``squares_y`` their squares, and ``product`` what
    they are times each other.
    """
    of_system, middles = _middles(scores)
    about = by_unit["about"].to_numpy()
    of_x, of_y = about // k, about // k // k * k + about % k
    x, y = (_large(pl.Series(middles[np.searchsorted(of_system, of)])) for of in (of_x, of_y))
    n, first, product = _large(by_unit["n"]), by_unit["first"], by_unit["product"]
    second = first - by_unit["total"]
    second_squares = by_unit["squares"] - by_unit["first_squares"] + product + product
    centred = {
        "first": first - n * x,
        "second": second - n * y,
        "squares_x": by_unit["first_squares"] - (x + x) * first + n * x * x,
        "squares_y": second_squares - (y + y) * second + n * y * y,
        "product": product - y * first - x * second + n * x * y,
    }
    as_floats = {name: column.cast(pl.Float64) for name, column in centred.items()}
    return _with(by_unit, as_floats, without=("first_squares",))


def _weighed(sums: Sums, of: str, keys: Mapping[str, Ints]) -> pl.DataFrame:
    frame = weighed_in_floats(sums.pop(f"{of}_weighed_item", None), of)
    return in_order(_numbered(frame, "item", keys["item"]), "about", "item")


def weighed_in_floats(frame: pl.DataFrame | None, of: str) -> pl.DataFrame:
    """Return what is weighed as floats; no rows where everybody gave as many answers."""
    names = ("share", "square", "total", *(("higher",) if of == "pairs" else ()))
    if frame is None:
        nobody: dict[str, pl.DataType] = {"about": pl.Int64(), "item": pl.Int64(), **dict.fromkeys(names, pl.Float64())}
        return pl.DataFrame([pl.Series(name, [], dtype=dtype) for name, dtype in nobody.items()])
    columns = {one.name: one for one in frame.iter_columns()}
    del frame
    for name in names:  # one at a time, as they are large
        columns[name] = columns[name].cast(pl.Float64).rechunk()
    columns["square"] = columns["square"] / 2.0**SQUARED
    if of == "pairs":
        columns["higher"] = columns["higher"] / 2
    return pl.DataFrame([*columns.values()])


def _centred(frame: pl.DataFrame, means: Mapping[int, Fraction]) -> pl.DataFrame:
    """Turn ``squares`` of ``n`` values into those of their distances from the mean."""
    rows = zip(*(frame[name].to_list() for name in ("about", "n", "total", "squares")), strict=True)
    squares = [float(added - 2 * means[about] * total + n * means[about] ** 2) for about, n, total, added in rows]
    return _with(frame, {"squares": pl.Series(squares, dtype=pl.Float64)})


def in_scores(frame: pl.DataFrame, of: str, grid: Grid) -> pl.DataFrame:
    """Turn sums of multiples into sums of scores, and say what they are about."""
    frame = grid.spelt_out(frame, of)
    if grid.factor.min() == grid.factor.max():  # a column, as polars multiplies by what one divisor goes into 1
        factor = pl.Series(np.full(frame.height, grid.factor.min()))
    else:
        factor = pl.Series(grid.factor[frame["group"].to_numpy(), frame["criterion"].to_numpy()])
    once, twice = ("total", "value", "first", "second"), ("squares", "squares_x", "squares_y", "product")
    powers = {**dict.fromkeys(once, factor), **dict.fromkeys(twice, factor * factor)}
    there = powers.keys() & {*frame.columns}
    return _with(frame, {name: frame[name].cast(pl.Float64) / powers[name] for name in there})


def _counts(counted: pl.DataFrame, of: str, grid: Grid) -> pl.DataFrame:
    """Return how often each score was given, where a group and criterion has few."""
    few = counted
    if counted["value"].has_nulls() or counted.height > LISTED:
        many = (pl.col("value").is_null().any() | (pl.col("value").n_unique() > LISTED)).over(PART)
        few = counted.filter(~grid.spelt_out(counted, of).select(many).to_series())
    found = in_scores(few, of, grid)
    found = pl.DataFrame([one.alias("score") if one.name == "value" else one for one in found.iter_columns()])
    return found.sort(*PART, *OVER[of], "score")
