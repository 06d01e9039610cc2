"""Juries: raters whose answers to one question are put together into one, as if a rater of that name had given it.

A jury's answers are made when answers are analysed; no store and no export holds them. They are made of what the plan
keeps of its members' answers: of one form, where its members answered the same forms, else of the same question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from analysis.answers.columns import LAYOUTS
from analysis.answers.exclusions import Exclusion, apply_exclusions
from analysis.answers.groups import distinct
from analysis.answers.item_preferences import CERTAIN
from analysis.answers.orderings import implied_choices, numbered
from analysis.answers.plan import Jury
from analysis.answers.tables import AnswerTables
from spa.errors import AnalysisError, ArgumentProblem, shortened

Apart = Literal["spans", "best_worst", "gamble"]  # ways of asking whose answers are not put together
APART: tuple[Apart, ...] = ("spans", "best_worst", "gamble")
ORDERED = "ranking"  # the elicitation of choices that an order of outputs implies
DIGITS = 9  # of means of votes, which thirds leave inexact
SPLIT = "the members are split"
SAID = ("form", "readout", "elicitation")  # what members may say differently
OF_ONE = ("variant", "repeat", "missing_reason", "explanation", "missing_level", "mass", "readings_differ", "both_bad")
SIDES = ("system", "sample", "label")


def with_juries(
    tables: AnswerTables, juries: Sequence[Jury], exclusions: Sequence[Exclusion], *, declared: bool
) -> AnswerTables:
    """Add the answers of juries to the tables.

    Parameters
    ----------
    tables : AnswerTables
        Checked answers.
    juries : sequence of Jury
        Who belongs to each.
    exclusions : sequence of Exclusion
        What of the members' answers is left out.
    declared : bool
        Whether the juries stand in a study file, which was checked, and whose raters may not have answered yet.

    Raises
    ------
    AnalysisError
        When a member is none of the LLMs that answered, or a jury has the name of somebody else.
    """
    _check(juries, tables, declared=declared)
    for jury in juries:
        changed: dict[str, Any] = {}
        for source, table in tables.answers().items():
            made = answers_of_jury(table, source, jury, exclusions)
            changed[source] = _below(table, made, jury)
        if tables.orders is not None:
            orders = _orders_of_jury(tables.orders, jury, exclusions)
            if not orders.is_empty():
                changed["choices"] = _below(changed["choices"], implied_choices(orders), jury)
            changed["orders"] = _below(tables.orders, orders, jury)
        if tables.item_preferences is not None:
            own = tables.item_preferences
            changed["item_preferences"] = _below(own, answers_of_jury(own, "preferences", jury, exclusions), jury)
        tables = replace(tables, **changed)
    return tables


def members_of(table: pl.DataFrame, jury: Jury) -> pl.DataFrame:
    """Return the answers of a jury's members that can be put together."""
    ways = pl.col("elicitation").cast(pl.String)
    kept = (~ways.is_in(APART)).fill_null(True)
    return table.filter(pl.col("group").cast(pl.String).is_in(jury.raters), kept)


def left_apart(tables: Iterable[pl.DataFrame], jury: Jury) -> tuple[Apart, ...]:
    """Return the ways of asking whose answers by members are not put together."""
    ways: set[str | None] = set()
    for table in tables:
        rows = table.filter(pl.col("group").cast(pl.String).is_in(jury.raters))
        ways |= {*rows["elicitation"].cast(pl.String).unique().to_list()}
    return tuple(way for way in APART if way in ways)


def answers_of_jury(
    table: pl.DataFrame, source: str, jury: Jury, exclusions: Sequence[Exclusion] = (), *, as_asked: bool = True
) -> pl.DataFrame:
    """Return the answers of a jury to the questions of one table; none where no member was asked.

    Beside the columns of the table they have ``split``: whether the members gave no single answer. Choices are those
    for the side named first when they were asked, or without ``as_asked`` for the same side whoever is a member.
    """
    rows = members_of(table, jury).with_columns(pl.col(pl.Categorical).cast(pl.String))
    if source == "choices":
        rows = rows.filter((pl.col("elicitation") != ORDERED).fill_null(True))
    if rows.is_empty():
        return rows.with_columns(split=pl.lit(False))
    rows = _kept(rows, exclusions)
    cell = _cell(rows, source)
    if source == "choices":
        rows = _one_way(rows, cell)
        cell = [*cell, "system_x", "system_y", "sample_x", "sample_y", "_turned"]
    chosen = _chosen(rows) if source == "choices" else None
    verdicts = _verdicts(rows, cell, jury, chosen)
    others = [name for name in rows.columns if name not in {*cell, *OF_ONE, *SAID, "value", "group", "annotator_id"}]
    said = [_said(name) for name in SAID if name in rows.columns and name not in cell]
    about = rows.group_by(cell, maintain_order=True).agg(*said, *(pl.col(name).first() for name in others))
    made = about.join(verdicts, on=cell, how="left", nulls_equal=True, maintain_order="left")
    if source == "choices" and as_asked:
        made = _turned(made, made["_back"])
    if "assignment_id" not in cell:  # of several forms
        made = made.with_columns(assignment_id=pl.lit(None, dtype=pl.String))
    return _as_rows(made, source, jury)


def _check(juries: Sequence[Jury], tables: AnswerTables, *, declared: bool) -> None:
    seen = [distinct(table, "group", "annotator_kind", "annotator_id") for table in tables.answers().values()]
    rows = pl.concat(seen).unique(maintain_order=True) if seen else pl.DataFrame()
    kinds = dict(zip(rows["group"], rows["annotator_kind"], strict=True)) if seen else {}
    llms = [group for group, kind in kinds.items() if kind == "llm"]
    taken = {*kinds, *rows["annotator_id"]} if seen else set()
    problems: list[str] = []
    for number, jury in enumerate(juries):
        if jury.id in taken:
            after = f": {shortened(repr(jury.id))} has given answers; name the jury otherwise"
            problems.append(_problem(jury, after))
        if any(jury.id == other.id for other in juries[:number]):
            problems.append(_problem(jury, ": expected a name of its own, got that of two juries; rename one"))
        if twice := sorted({name for name in jury.raters if jury.raters.count(name) > 1}):
            after = f": expected different raters, got {shortened(', '.join(twice))} twice; remove one"
            problems.append(_problem(jury, after))
        if jury.by == "majority" and "preferences" in tables.answers():
            problems.append(_problem(jury, ': expected "mean" or "median" beside preferences, got "majority"'))
        unknown = [] if declared else [name for name in jury.raters if name not in llms]
        for name in unknown:
            other = f"{name!r} is {kinds[name]}; mark LLMs with --llm" if name in kinds else f"nobody is {name!r}"
            there = f"the LLMs are {', '.join(llms[:8])}" if llms else "there are no LLMs"
            problems.append(_problem(jury, f": {shortened(other)} ({shortened(there, 200)})"))
    if problems:
        raise AnalysisError(*problems)


def _problem(jury: Jury, after: str) -> str:
    return ArgumentProblem("juries", in_python=f"={jury.id!r}", in_command=f" {jury.id}", after=after)


def _kept(rows: pl.DataFrame, exclusions: Sequence[Exclusion]) -> pl.DataFrame:
    """Return rows whose answer is missing where an exclusion concerns it."""
    if not exclusions:
        return rows
    placed = rows.with_row_index("_at")
    kept = apply_exclusions(placed, exclusions)["_at"].implode()
    return placed.with_columns(value=pl.when(pl.col("_at").is_in(kept)).then("value")).drop("_at")


def _cell(rows: pl.DataFrame, source: str) -> list[str]:
    """Return the columns by which members answered the same question, with the form where they share forms."""
    by_form = rows.filter(pl.col("assignment_id").is_not_null()).group_by("assignment_id")
    shared = by_form.agg(pl.col("group").n_unique() > 1)["group"].any()
    aside = {"annotator_id", "variant", *(() if shared else ("assignment_id",))}
    if source == "choices":
        aside |= {"system_x", "system_y", "sample_x", "sample_y"}
    return [name for name in LAYOUTS[source].cell if name not in aside and name in rows.columns]


def _one_way(rows: pl.DataFrame, cell: Sequence[str]) -> pl.DataFrame:
    """Turn choices to one direction of each pair, unless the members chose in both directions of a form.

    ``_back`` says whether the first answer to a question was given the other way round.
    """
    away = rows["system_x"] > rows["system_y"]
    rows = _turned(rows.with_columns(_away=away), away)
    pair = ["system_x", "system_y", "sample_x", "sample_y"]
    by_form = [*cell, *pair, "group"]
    both = "assignment_id" in cell and bool((rows.group_by(by_form).agg(pl.col("_away").n_unique() > 1)["_away"]).any())
    turned = pl.col("_away") if both else pl.lit(False)
    return rows.with_columns(_turned=turned).rename({"_away": "_back"})


def _turned(rows: pl.DataFrame, where: pl.Series) -> pl.DataFrame:
    """Return answers about pairs, some of them seen from the other side."""
    here = pl.lit(where)
    sides = [(f"{name}_x", f"{name}_y") for name in SIDES if f"{name}_x" in rows.columns]
    other = {x: pl.when(here).then(y).otherwise(x) for x, y in sides}
    other |= {y: pl.when(here).then(x).otherwise(y) for x, y in sides}
    return rows.with_columns(**other, value=pl.when(here).then(1 - pl.col("value")).otherwise("value"))


def _chosen(rows: pl.DataFrame) -> pl.Series:
    """Return the criteria whose answers are choices, not probabilities of being chosen."""
    soft = rows.filter(pl.col("value").is_not_null() & ~pl.col("value").is_in(CERTAIN))["criterion"].unique()
    return rows["criterion"].unique().filter(~rows["criterion"].unique().is_in(soft.implode()))


def _verdicts(rows: pl.DataFrame, cell: Sequence[str], jury: Jury, chosen: pl.Series | None) -> pl.DataFrame:
    """Return what the members say together: ``value``, ``answered`` (members who did) and ``split``."""
    if jury.by == "majority":
        members = _most_frequent(rows, [*cell, "group"])
        made = _most_frequent(members, cell)
        counts = members.group_by(cell).agg(answered=pl.col("value").count())
        found = counts.join(made, on=cell, how="left", nulls_equal=True)
    else:
        middle = pl.col("value").mean() if jury.by == "mean" else pl.col("value").median()
        members = rows.group_by([*cell, "group"]).agg(middle)
        alike = pl.col("value").drop_nulls().n_unique() == 1
        found = members.group_by(cell).agg(middle, answered=pl.col("value").count(), alike=alike)
        found = found.with_columns(split=pl.lit(False))
    if chosen is not None:
        tied = (pl.col("value").round(DIGITS) == 0.5).fill_null(False)
        sided = 0.5 + (pl.col("value") - 0.5).round(DIGITS).sign() / 2
        votes = pl.col("criterion").is_in(chosen.implode())
        if jury.by == "majority":
            said = pl.when(votes & pl.col("split")).then(0.5).otherwise("value")
            split = pl.col("split")
        else:
            said, split = pl.when(votes).then(sided).otherwise("value"), votes & tied & ~pl.col("alike")
        found = found.with_columns(value=said, split=split)
    few = pl.col("answered") < jury.least
    split = pl.col("split").fill_null(False) & ~few
    nothing = few | (split if jury.ties == "missing" else pl.lit(False))
    counted = pl.format("{} of {} members answered", "answered", pl.lit(len(jury.raters)))
    return found.select(
        *cell,
        value=pl.when(~nothing).then("value"),
        split=split,
        missing_reason=pl.when(few).then(counted).when(nothing).then(pl.lit(SPLIT)),
    )


def _most_frequent(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the most frequent value of each part, the middle of several, and whether there are several."""
    counts = rows.filter(pl.col("value").is_not_null()).group_by([*by, "value"]).len()
    most = counts.filter(pl.col("len") == pl.col("len").max().over(by))
    found = most.group_by(by).agg(pl.col("value").mean(), split=pl.len() > 1)
    return rows.select(by).unique().join(found, on=by, how="left", nulls_equal=True)


def _said(name: str) -> pl.Expr:
    """Return what members say alike, of the form that one read more than people did."""
    if name == "form":
        return pl.when((pl.col(name) == "variant").any()).then(pl.lit("variant")).otherwise(pl.col(name).first())
    return pl.when(pl.col(name).drop_nulls().n_unique() == 1).then(pl.col(name).drop_nulls().first()).alias(name)


def _as_rows(made: pl.DataFrame, source: str, jury: Jury) -> pl.DataFrame:
    """Return verdicts with the columns of answers, as somebody who gave them would have written them."""
    text = pl.col("value").cast(pl.String)
    if source == "choices":
        text = pl.when(pl.col("value").is_in(CERTAIN)).then(_winner(pl.col("value"))).otherwise(text)
    return made.with_columns(
        text=text,
        **{LAYOUTS[source].answer: text},
        annotator_id=pl.lit(jury.id),
        annotator_kind=pl.lit("llm"),
        group=pl.lit(jury.id),
    ).drop("_back", strict=False)


def _winner(value: pl.Expr) -> pl.Expr:
    return value.replace_strict({1.0: "x", 0.5: "tie", 0.0: "y"}, default=None, return_dtype=pl.String)


def _orders_of_jury(orders: pl.DataFrame, jury: Jury, exclusions: Sequence[Exclusion]) -> pl.DataFrame:
    """Return the orders that mean ranks give, equal ones sharing a rank; an order that a member left open is none."""
    rows = members_of(orders, jury).with_columns(pl.col(pl.Categorical).cast(pl.String))
    if rows.is_empty():
        return rows
    rows = _kept(rows, exclusions)
    whole = pl.col("value").is_not_null().all().over("ordering")
    rows = rows.with_columns(value=pl.when(whole).then(pl.col("value").cast(pl.Float64)))
    cell = _cell(rows, "orders")
    order = [name for name in cell if name != "system"]
    members = rows.group_by([*cell, "group"]).agg(pl.col("value").mean())
    found = members.group_by(cell).agg(pl.col("value").mean().round(DIGITS), answered=pl.col("value").count())
    few = pl.col("answered").min().over(order) < jury.least
    counted = pl.format("{} of {} members answered", pl.col("answered").min().over(order), pl.lit(len(jury.raters)))
    ranked = found.with_columns(
        value=pl.when(~few).then(pl.col("value").rank("min").over(order).cast(pl.Float64)),
        missing_reason=pl.when(few).then(counted),
    ).drop("answered")
    aside = {*cell, *OF_ONE, *SAID, "value", "group", "annotator_id", "ordering", "place"}
    others = [pl.col(name).first() for name in rows.columns if name not in aside]
    said = [_said(name) for name in SAID if name in rows.columns and name not in cell]
    about = rows.group_by(cell, maintain_order=True).agg(*said, *others)
    made = about.join(ranked, on=cell, how="left", nulls_equal=True, maintain_order="left")
    nothing = [pl.lit(None, dtype=pl.String).alias(name) for name in ("variant", "repeat")]
    made = numbered(_as_rows(made.with_columns(nothing), "orders", jury))
    return made.with_columns(pl.col("ordering") + orders["ordering"].max() + 1)


def _below(table: pl.DataFrame, made: pl.DataFrame, jury: Jury) -> pl.DataFrame:
    """Add rows to a table, whose columns and kinds stay."""
    if made.is_empty():
        return table
    there = table["row"].max()
    assert isinstance(there, int)
    own = made.drop("row").with_row_index("row", offset=there + 1)
    absent = [pl.lit(None).alias(name) for name in table.columns if name not in own.columns]
    typed = own.with_columns(absent).select(
        pl.col(name).cast(pl.String if isinstance(kind, pl.Categorical) else kind).cast(kind)
        for name, kind in table.schema.items()
    )
    return pl.concat([table, typed])


def parse_juries(texts: Iterable[str]) -> Iterator[Jury]:
    """Read juries written as ``NAME=A,B,C`` or, with how answers are put together, ``NAME:majority=A,B,C``.

    >>> next(parse_juries(["panel:median=gpt,claude"])).by
    'median'
    """
    for text in texts:
        head, _, raters = text.partition("=")
        name, _, by = head.partition(":")
        members = tuple(one.strip() for one in raters.split(",") if one.strip())
        if not name or len(members) < 2 or by not in ("", "mean", "median", "majority"):
            expected = "NAME=A,B or NAME:BY=A,B with BY mean, median or majority, and two raters at least"
            raise AnalysisError(f"--jury: expected {expected}, got {shortened(repr(text))}")
        yield Jury(id=name, raters=members, by=by or "mean")  # type: ignore[arg-type]
