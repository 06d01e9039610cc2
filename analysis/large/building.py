"""Totals from the sums of all parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from analysis.answers.columns import Scale
from analysis.answers.tables import InputFile
from analysis.large.adding import LISTED, MASS, OVER, PART, UNITS, Grid, Sums
from analysis.large.totals import AnswerTotals, SummedKind, ValueTotals
from analysis.results.rater_table import RaterCounts
from analysis.statistics.coding import Ints
from analysis.statistics.record import AnnotatorKind

NAMED = 10_000  # annotators up to which their names are kept
SQUARED = ("squares", "squares_x", "squares_y", "product")


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
    means = _means(overall)
    together = [sums[f"{of}_{kind}"].rename({"n": "size", "clusters": "n"}) for kind in ("clusters", "visits")]
    if "first" in overall.columns:
        overall = _beside(overall, _means(sums["scores_overall"]), len(grid.order.systems))
    overall, *together = (_in_scores(_centred(frame, means), of, grid) for frame in (overall, *together))
    clusters, visits = (frame.drop("total").rename({"n": "clusters", "size": "n"}) for frame in together)
    units = {unit: _in_scores(_numbered(sums[f"{of}_{unit}"], unit, keys[unit]), of, grid) for unit in UNITS}
    return ValueTotals(
        overall=overall.drop("size").sort(over),
        clusters=clusters.sort(*over, "n"),
        visits=visits.sort(*over, "n"),
        **{unit: frame.sort(*over, unit) for unit, frame in units.items()},
    )


def _means(overall: pl.DataFrame) -> dict[int, Fraction]:
    return {about: Fraction(total, n) for about, total, n in overall.select("about", "total", "n").iter_rows()}


def _beside(frame: pl.DataFrame, means: Mapping[int, Fraction], k: int) -> pl.DataFrame:
    """Turn sums of the ratings of x and y that lie side by side into those of distances from the systems' means.

    ``squares_x`` and ``squares_y`` add up their squares, ``product`` what they are times each other.
    """
    names = ("about", "n", "total", "squares", "first", "first_squares", "product")
    rows = []
    for about, n, total, squares, first, first_squares, product in frame.select(names).iter_rows():
        x, y = means[about // k], means[about // k // k * k + about % k]
        second, second_squares = first - total, squares - first_squares + 2 * product
        rows.append(
            (
                float(first_squares - 2 * x * first + n * x**2),
                float(second_squares - 2 * y * second + n * y**2),
                float(product - y * first - x * second + n * x * y),
            )
        )
    found = pl.DataFrame(rows, ("squares_x", "squares_y", "product"), orient="row").cast(pl.Float64)
    return frame.drop("first", "first_squares", "product").with_columns(found.get_columns())


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
    powers = {"total": factor, "value": factor, **dict.fromkeys(SQUARED, factor**2)}
    return frame.with_columns(
        pl.col(name).cast(pl.Float64) / power for name, power in powers.items() if name in frame.columns
    )


def _counts(counted: pl.DataFrame, of: str, grid: Grid) -> pl.DataFrame:
    """Return how often each score was given, where a group and criterion has few."""
    each = grid.spelt_out(counted, of)
    many = (pl.col("value").is_null().any() | (pl.col("value").n_unique() > LISTED)).over(PART)
    few = counted.filter(~each.select(many).to_series())
    return _in_scores(few, of, grid).rename({"value": "score"}).sort(*PART, *OVER[of], "score")
