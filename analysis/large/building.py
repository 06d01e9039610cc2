"""Totals from the sums of all parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from analysis.answers.columns import Scale
from analysis.answers.tables import InputFile
from analysis.large.adding import LISTED, MASS, OVER, PART, SQUARED, TOGETHER, UNITS, Grid, Sums
from analysis.large.totals import AnswerTotals, SummedKind, ValueTotals
from analysis.results.rater_table import RaterCounts
from analysis.statistics.coding import Ints
from analysis.statistics.record import AnnotatorKind

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
    about = "scores" if kind == "ratings" else "pairs"
    return AnswerTotals(
        kind=kind,
        order=grid.order,
        groups=tuple(groups),
        scores=_value_totals(sums, "scores", keys, grid) if kind == "ratings" else None,
        pairs=_value_totals(sums, "pairs", keys, grid),
        counts=_counts(sums[f"{about}_counts"], about, grid),
        layout=sums["layout"].sort(PART),
        missing=sums["missing"],
        seen=count_seen(sums),
        counted=count_answers(sums),
        columns=sums["columns"],
        scale=sums["extremes"],
        options=grid.options,
        sampled=_sampled(sums["samples"], grid),
        repeated=sums["repeated"].height,
        stand_in=_numbered(sums["stand_in"], "annotator", keys["annotator"]),
        stand_in_units=sums["stand_in_units"],
        sizes={unit: len(own) for unit, own in keys.items()},
        names=names,
        inputs=tuple(inputs),
        scales=tuple(scales),
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
    return np.unique(np.concatenate([column.unique().to_numpy() for column in columns]))


def _numbered(frame: pl.DataFrame, unit: str, keys: Ints) -> pl.DataFrame:
    return frame.with_columns(pl.Series(unit, np.searchsorted(keys, frame[unit].to_numpy()).astype(np.int64)))


def _value_totals(sums: Sums, of: str, keys: Mapping[str, Ints], grid: Grid) -> ValueTotals:
    over = (*PART, *OVER[of])
    overall = sums[f"{of}_overall"].with_columns(size=1)
    means = {about: Fraction(total, n) for about, total, n in overall.select("about", "total", "n").iter_rows()}
    overall = _in_scores(_centred(overall, means), of, grid)
    together = {
        kind: _in_scores(_about_equal_mean(sums[f"{of}_{kind}"], sums[f"{of}_{unit}"], unit), of, grid)
        for kind, unit in TOGETHER.items()
    }
    clusters, visits = (_numbered(together[kind], unit, keys[unit]) for kind, unit in TOGETHER.items())
    by_unit = {unit: sums[f"{of}_{unit}"] for unit in UNITS}
    for unit in TOGETHER.values() if "first" in by_unit["annotator"].columns else ():
        by_unit[unit] = _beside(by_unit[unit], sums[f"scores_{unit}"], unit, len(grid.order.systems))
    units = {unit: _in_scores(_numbered(by_unit[unit], unit, keys[unit]), of, grid) for unit in UNITS}
    return ValueTotals(
        overall=overall.drop("size").sort(over),
        clusters=clusters.sort(*over, "annotator", "n"),
        visits=visits.sort(*over, "assignment", "n"),
        weighed=_weighed(sums, of, keys, grid).sort(*over, "item"),
        **{unit: frame.sort(*over, unit) for unit, frame in units.items()},
    )


def _middles(by_unit: pl.DataFrame, unit: str) -> pl.DataFrame:
    """Return the mean of the units' means of each system or pair, as a whole multiple: ``about, middle``."""
    ordered = by_unit.sort("about", unit)
    about, of = np.unique(ordered["about"].to_numpy(), return_inverse=True)
    means = ordered["total"].cast(pl.Float64).to_numpy() / ordered["n"].to_numpy()
    middle = np.rint(np.bincount(of, weights=means) / np.bincount(of)) if len(about) else means
    frame = pl.DataFrame({"about": about, "middle": middle.astype(np.int64)})
    return frame.with_columns(pl.col("about").cast(by_unit.schema["about"]), pl.col("middle").cast(pl.Int128))


def _about_equal_mean(clusters: pl.DataFrame, by_unit: pl.DataFrame, unit: str) -> pl.DataFrame:
    """Turn ``total`` and ``squares`` of ``clusters`` sums of ``n`` values into those of distances from the middle."""
    size, times, total = (
        pl.col("n").cast(pl.Int128) * pl.col("middle"),
        pl.col("clusters").cast(pl.Int128),
        pl.col("total"),
    )
    squares = pl.col("squares") - 2 * size * total + times * size * size
    centred = {"total": (total - times * size).cast(pl.Float64), "squares": squares.cast(pl.Float64)}
    return clusters.join(_middles(by_unit, unit), on="about").with_columns(**centred).drop("middle")


def _beside(by_unit: pl.DataFrame, scores: pl.DataFrame, unit: str, k: int) -> pl.DataFrame:
    """Turn sums of the ratings of x and y that lie side by side into those of distances from the systems' middles.

    ``first`` and ``second`` add up the distances, ``squares_x`` and ``squares_y`` their squares, and ``product`` what
    they are times each other.
    """
    middles = _middles(scores, unit)
    of_x, of_y = pl.col("about") // k, pl.col("about") // k // k * k + pl.col("about") % k
    both = by_unit.with_columns(of_x=of_x, of_y=of_y)
    for name in ("x", "y"):
        both = both.join(middles.rename({"about": f"of_{name}", "middle": name}), on=f"of_{name}", how="left")
    n, x, y, first = pl.col("n").cast(pl.Int128), pl.col("x"), pl.col("y"), pl.col("first")
    second = first - pl.col("total")
    second_squares = pl.col("squares") - pl.col("first_squares") + 2 * pl.col("product")
    centred = {
        "first": first - n * x,
        "second": second - n * y,
        "squares_x": pl.col("first_squares") - 2 * x * first + n * x * x,
        "squares_y": second_squares - 2 * y * second + n * y * y,
        "product": pl.col("product") - y * first - x * second + n * x * y,
    }
    found = both.with_columns(**{name: column.cast(pl.Float64) for name, column in centred.items()})
    return found.drop("of_x", "of_y", "x", "y", "first_squares")


def _weighed(sums: Sums, of: str, keys: Mapping[str, Ints], grid: Grid) -> pl.DataFrame:
    """Return what is weighed; no rows where everybody gave as many answers."""
    whole = dict.fromkeys(("share", "square", "total", *(("higher",) if of == "pairs" else ())), pl.Int128)
    empty = pl.DataFrame(schema={"about": pl.Int64, "item": pl.Int64, **whole})
    frame = sums.get(f"{of}_weighed_item", empty).with_columns(pl.col(pl.Int128).cast(pl.Float64))
    frame = frame.with_columns(square=pl.col("square") / 2.0**SQUARED)
    if of == "pairs":
        frame = frame.with_columns(higher=pl.col("higher") / 2)
    return _in_scores(_numbered(frame, "item", keys["item"]), of, grid)


def _centred(frame: pl.DataFrame, means: Mapping[int, Fraction]) -> pl.DataFrame:
    """Turn ``squares`` of ``n`` sums of ``size`` values into those of their distances from size times the mean."""
    squares = [
        float(added - 2 * size * means[about] * total + n * (size * means[about]) ** 2)
        for about, n, size, total, added in frame.select("about", "n", "size", "total", "squares").iter_rows()
    ]
    return frame.with_columns(squares=pl.Series(squares, dtype=pl.Float64))


def _in_scores(frame: pl.DataFrame, of: str, grid: Grid) -> pl.DataFrame:
    """Turn sums of multiples into sums of scores, and say what they are about."""
    frame = grid.spelt_out(frame, of)
    factor = pl.Series(grid.factor[frame["group"].to_numpy(), frame["criterion"].to_numpy()])
    once, twice = ("total", "value", "first", "second"), ("squares", "squares_x", "squares_y", "product")
    powers = {**dict.fromkeys(once, factor), **dict.fromkeys(twice, factor**2)}
    return frame.with_columns(
        pl.col(name).cast(pl.Float64) / power for name, power in powers.items() if name in frame.columns
    )


def _counts(counted: pl.DataFrame, of: str, grid: Grid) -> pl.DataFrame:
    """Return how often each score was given, where a group and criterion has few."""
    each = grid.spelt_out(counted, of)
    many = (pl.col("value").is_null().any() | (pl.col("value").n_unique() > LISTED)).over(PART)
    few = counted.filter(~each.select(many).to_series())
    return _in_scores(few, of, grid).rename({"value": "score"}).sort(*PART, *OVER[of], "score")
