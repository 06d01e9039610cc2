"""Careless answering, judged by rules declared beforehand: outputs seen, speed of reading, one answer throughout.

Rules concern people (and simulated annotators, who stand for people), each over all visits that count. Whoever gave
too little to judge by is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import polars as pl

from analysis.answers.groups import distinct
from analysis.answers.plan import Plan
from analysis.statistics.coding import tally

CarelessRule = Literal["outputs_seen", "reading_speed", "relative_speed", "same_answers"]
CARELESS_RULES: tuple[CarelessRule, ...] = get_args(CarelessRule)
SEEN = 0.9  # share of an output's height, from its top, that was on screen: the rest is the margin of a page
FEWEST_OUTPUTS = 5  # with words, before a median says how fast somebody reads
FEWEST_ANSWERS = 10  # before one and the same answer is a habit
SpeedUnit = Literal["words", "usual_seconds"]
VISIT = ("annotator_id", "assignment_id")
OUTPUT = (*VISIT, "item_id", "system", "sample")


@dataclass(frozen=True, slots=True, kw_only=True)
class CarelessCheck:
    """One person under one rule; ``evidence`` is ``None`` where there is too little to judge by."""

    annotator_id: str
    group: str
    rule: CarelessRule
    evidence: str | None
    excluded: bool


def declared_rules(plan: Plan) -> dict[CarelessRule, float]:
    """Return the bound of each rule that the plan declares."""
    bounds: dict[CarelessRule, float | None] = {
        "outputs_seen": plan.min_outputs_seen,
        "reading_speed": plan.max_words_per_minute,
        "relative_speed": plan.max_reading_speed,
        "same_answers": plan.max_same_answers,
    }
    return {rule: bound for rule, bound in bounds.items() if bound is not None}


def needs_reading(plan: Plan) -> bool:
    """Tell whether a declared rule is about the evidence of reading."""
    return bool(declared_rules(plan).keys() - {"same_answers"})


def check_careless(
    answers: Mapping[str, pl.DataFrame],
    reading: pl.DataFrame | None,
    plan: Plan,
    annotators: pl.DataFrame | None = None,
) -> Iterator[CarelessCheck]:
    """Judge every person by every rule that the plan declares.

    Parameters
    ----------
    answers : mapping of str to DataFrame
        Checked answer tables by name, without visits that do not count.
    reading : DataFrame or None
        The checked table of that name, likewise.
    plan : Plan
        Its bounds.
    annotators : DataFrame, optional
        The checked table of that name, which says how long visits took on the server's clock.

    Yields
    ------
    CarelessCheck
        Rule by rule, people in the order in which they first answer.
    """
    bounds = declared_rules(plan)
    people = people_of(answers) if bounds else {}
    for rule, bound in bounds.items():
        if rule == "same_answers" and plan.usual_answer is not None:
            yield from _without_usual(answers, people, bound, plan.usual_answer)
            continue
        if rule == "same_answers":
            measured = same_answers(answers)
        elif rule == "relative_speed":
            measured = relative_speeds(reading, annotators)
        elif reading is None:
            measured = {}
        else:
            measured = outputs_seen(reading) if rule == "outputs_seen" else reading_speeds(reading)
        for annotator_id, group in people.items():
            excluded, evidence = False, None
            if annotator_id in measured:
                excluded, evidence = _judge(rule, bound, *measured[annotator_id])
            yield CarelessCheck(annotator_id=annotator_id, group=group, rule=rule, evidence=evidence, excluded=excluded)


def outputs_seen(reading: pl.DataFrame) -> dict[str, tuple[float, int]]:
    """Return how many outputs each person saw, and of how many that were shown on measured pages."""
    return _by_person(
        seen_of_outputs(reading).group_by("annotator_id").agg(pl.col("seen").sum().cast(pl.Float64), n=pl.len())
    )


def seen_of_outputs(reading: pl.DataFrame) -> pl.DataFrame:
    """Return each output of each visit once, with the seconds on screen over all pages and whether it was seen.

    It was seen where, on any page, it was on screen down to 90% of its height, or was served alone to a browser without
    script; a clip was seen where 90% of it was played. Evidence that the server's clock refutes counts as none.
    """
    by_server, refuted = _known(reading, "server"), _known(reading, "refuted")
    seen = (pl.col("seconds") > 0) & ((pl.col("scrolled") >= SEEN).fill_null(value=False) | by_server) & ~refuted
    if {"length", "played"} <= {*reading.columns}:
        seen &= pl.col("length").is_null() | (pl.col("played") >= SEEN * pl.col("length")).fill_null(value=False)
    outputs = reading.filter(pl.col("system").is_not_null())
    return outputs.group_by(_output(reading)).agg(pl.col("seconds").sum(), seen=seen.any())


def _known(reading: pl.DataFrame, by: str) -> pl.Expr:
    """Return whether it is known by something how an output was seen; tables without that column do not say."""
    if "known_by" not in reading.columns:
        return pl.lit(value=False)
    return (pl.col("known_by").cast(pl.String) == by).fill_null(value=False)


def _output(reading: pl.DataFrame) -> list[str]:
    """Return the columns that name what was shown of a visit: an output, or a turn of one that is shown in turns."""
    return [*OUTPUT, *({"turn"} & {*reading.columns})]


def reading_speeds(reading: pl.DataFrame, *, by: SpeedUnit = "words") -> dict[str, tuple[float, int]]:
    """Return the words a minute at which each person read, and over how many outputs that is the median.

    By ``usual_seconds``: how many times as fast as their words, by the script of each text, are usually read silently.

    The pace of a page is the time for which its outputs were on screen (their sum, or the page's own time where
    that is less, as outputs side by side are on screen together) by their words, as far as these were on screen. An
    output that stood on several pages was read at the sum of their paces: all the time that there was for it. What
    was never on screen, images, and what the server's clock refutes have no pace. Fewer than five outputs are no
    evidence. What a browser without script was served counts as on screen whole.
    """
    page = (*VISIT, "page")
    scrolled = pl.when(_known(reading, "server")).then(1.0).otherwise(pl.col("scrolled")).alias("scrolled")
    shown = reading.filter(~_known(reading, "refuted")).with_columns(scrolled)
    shown = shown.filter(pl.col("system").is_not_null(), *(pl.col(name) > 0 for name in ("seconds", "scrolled", by)))
    shown = shown.unique(
        [*page, *_output(reading)], maintain_order=True
    )  # asked about twice on one page, and shown twice
    seconds, words = pl.col("seconds").sum().over(page), (pl.col(by) * pl.col("scrolled")).sum().over(page)
    of_page = pl.when(pl.col("page_seconds") > 0).then("page_seconds")
    paced = shown.with_columns(pace=pl.min_horizontal(of_page, seconds) / words)
    outputs = paced.group_by(_output(reading)).agg(pl.col("pace").sum())
    unit = 60 if by == "words" else 1
    people = outputs.group_by("annotator_id").agg(speed=unit / pl.col("pace").median(), n=pl.len())
    return _by_person(people.filter(pl.col("n") >= FEWEST_OUTPUTS))


def relative_speeds(reading: pl.DataFrame | None, annotators: pl.DataFrame | None) -> dict[str, tuple[float, int]]:
    """Return how many times as fast as usual each person read, by the evidence that says faster.

    That is the median over so many outputs on screen (:func:`reading_speeds`), or, with 0 of them, what the server's
    clock says: the time that all words of the forms usually take, by that from the first page to the last answer.
    Whoever reads what is shown cannot be faster by the clock than while reading. So a script that sent no evidence of
    reading, or evidence that the clock refutes, is judged by the clock.
    """
    found: dict[str, tuple[float, int]] = {}
    if annotators is not None and {"usual_seconds", "passed_seconds"} <= {*annotators.columns}:
        clocked = annotators.filter(pl.col("usual_seconds") > 0, pl.col("passed_seconds") > 0)
        speed = pl.col("usual_seconds") / pl.col("passed_seconds")
        found = _by_person(clocked.select(pl.col("annotator_id").cast(pl.String), speed, n=pl.lit(0)))
    if reading is not None and "usual_seconds" in reading.columns:
        for annotator_id, read in reading_speeds(reading, by="usual_seconds").items():
            found[annotator_id] = max(read, found.get(annotator_id, read))
    return found


def same_answers(answers: Mapping[str, pl.DataFrame]) -> dict[str, tuple[float, int]]:
    """Return how many answers of each person were the most frequent one of their kind, and of how many.

    Kinds are ratings by elicitation, stated preferences, and choices. Of the latter two count answers about pairs
    that the person judged in both orders, as who prefers one system says the same of it each time; and of these
    no 50% and no tie, which say that neither is better. Fewer than ten answers are no evidence.
    """
    counted = counted_answers(answers)
    each = counted.group_by("annotator_id", "kind").agg(same=pl.col("len").max(), n=pl.col("len").sum())
    people = each.group_by("annotator_id").agg(pl.col("same").sum().cast(pl.Float64), pl.col("n").sum())
    return _by_person(people.filter(pl.col("n") >= FEWEST_ANSWERS))


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeAnswers:
    """How often one person gave their most frequent answer to questions of one kind.

    ``others`` is the share of that answer among those people who varied theirs, ``usual`` that from which it says
    nothing of whoever gives it always; ``shown`` tells whether the person gave it throughout, and others did not.
    """

    kind: str
    value: float
    same: int
    n: int
    others: float
    usual: float
    shown: bool

    @property
    def words(self) -> str:
        """Say what was answered; of a choice the side is left out, which is none of the page's."""
        answer = f"{100 * self.value:g}%" if self.kind == "preferences" else f"the same rating, {self.value:g},"
        answer = "the same choice" if self.kind == "choices" else answer
        return f"{answer} to {self.same:,} of {self.n:,} questions ({100 * self.same / self.n:.0f}%)"

    @property
    def exception(self) -> str:
        """Say that others gave it, too, where that says so."""
        return f", but others gave it to {100 * self.others:.0f}% of theirs" if self.others >= self.usual else ""


def alike_throughout(
    answers: Mapping[str, pl.DataFrame], people: Collection[str], *, bound: float, usual: float, even: bool
) -> dict[str, AlikeAnswers]:
    """Look whether people answered alike throughout, by the kind of question in which each did most.

    An answer that makes up the share ``usual`` of what people gave who varied theirs says nothing of those who always
    give it: so it is on a scale that is too easy, and of rare errors. Fewer than ten answers of a kind are no evidence.

    Parameters
    ----------
    answers : mapping of str to DataFrame
        Checked answer tables by name.
    people : collection of str
        Who is looked at.
    bound : float
        Share of one and the same answer, of a kind, above which it is given throughout.
    usual : float
        Share of it among others.
    even : bool
        Whether stated preferences of 50% count.
    """
    by = ("annotator_id", "kind")
    counted = counted_answers(answers, even=even).filter(pl.col("annotator_id").is_in([*people]))
    counted = counted.with_columns(n=pl.col("len").sum().over(by)).with_columns(share=pl.col("len") / pl.col("n"))
    varied = counted.filter(pl.col("share").max().over(by) <= bound)
    given = varied.group_by("kind", "value").agg(others=pl.col("len").sum())
    given = given.with_columns(others=pl.col("others") / pl.col("others").sum().over("kind"))
    judged = counted.filter(pl.col("n") >= FEWEST_ANSWERS).join(given, on=["kind", "value"], how="left")
    judged = judged.with_columns(pl.col("others").fill_null(0.0))
    judged = judged.with_columns(shown=(pl.col("share") > bound) & (pl.col("others") < usual))
    order = ("annotator_id", "shown", "share", "n", "kind", "value")
    most = judged.sort(*order, descending=[False, True, True, True, False, False])
    return {
        row["annotator_id"]: AlikeAnswers(
            kind=row["kind"],
            value=row["value"],
            same=row["len"],
            n=row["n"],
            others=row["others"],
            usual=usual,
            shown=row["shown"],
        )
        for row in most.unique("annotator_id", keep="first", maintain_order=True).iter_rows(named=True)
    }


def _without_usual(
    answers: Mapping[str, pl.DataFrame], people: Mapping[str, str], bound: float, usual: float
) -> Iterator[CarelessCheck]:
    """Judge the same answer throughout where the plan excepts what others usually answer."""
    found = alike_throughout(answers, people, bound=bound, usual=usual, even=False)
    for annotator_id, group in people.items():
        one = found.get(annotator_id)
        evidence = None if one is None else f"{one.words}, at most {100 * bound:g}% allowed{one.exception}"
        excluded = one is not None and one.shown
        yield CarelessCheck(
            annotator_id=annotator_id, group=group, rule="same_answers", evidence=evidence, excluded=excluded
        )


def counted_answers(answers: Mapping[str, pl.DataFrame], *, even: bool = False) -> pl.DataFrame:
    """Return how many answers (``len``) of each person and kind are one ``value``, as :func:`same_answers` counts them.

    ``even``: stated preferences of 50% count as well.
    """
    kinds = [
        _ratings(table) if name == "ratings" else _comparisons(table, name, even=even and name == "preferences")
        for name, table in answers.items()
    ]
    return pl.concat(kinds).group_by("annotator_id", "kind", "value").agg(pl.col("n").sum().alias("len"))


def _ratings(table: pl.DataFrame) -> pl.DataFrame:
    answered = table.filter(pl.col("value").is_not_null()) if table["value"].has_nulls() else table
    rows = tally(answered, "annotator_id", "elicitation", "value")
    kind = pl.concat_str(pl.lit("ratings "), pl.col("elicitation").cast(pl.String).fill_null("")).alias("kind")
    return rows.select(pl.col("annotator_id").cast(pl.String), kind, pl.col("value").cast(pl.Float64), "n")


def _comparisons(table: pl.DataFrame, name: str, *, even: bool) -> pl.DataFrame:
    x, y = pl.col("system_x"), pl.col("system_y")
    pair = ("annotator_id", pl.min_horizontal(x, y), pl.max_horizontal(x, y))
    rows = table.filter(pl.col("value").is_not_null())
    rows = rows.filter((x < y).n_unique().over(pair) == 2, pl.lit(value=True) if even else pl.col("value") != 0.5)
    once = pl.lit(1, dtype=pl.UInt32).alias("n")
    return rows.select(pl.col("annotator_id").cast(pl.String), pl.lit(name).alias("kind"), "value", once)


def people_of(answers: Mapping[str, pl.DataFrame]) -> dict[str, str]:
    """Return the group of everybody but LLMs, by their first answer."""
    each = [
        distinct(table, "annotator_id", "group", "annotator_kind").filter(pl.col("annotator_kind") != "llm")
        for table in answers.values()
    ]
    return dict(
        pl.concat(each).unique("annotator_id", keep="first", maintain_order=True).drop("annotator_kind").iter_rows()
    )


def _by_person(people: pl.DataFrame) -> dict[str, tuple[float, int]]:
    return {annotator_id: (value, n) for annotator_id, value, n in people.iter_rows()}


def _judge(rule: CarelessRule, bound: float, value: float, n: int) -> tuple[bool, str]:
    """Return whether a person is excluded, and the evidence; a value equal to the bound is kept."""
    if rule == "reading_speed":
        return value > bound, f"read {value:,.0f} words a minute (median of {n} outputs), at most {bound:,g} allowed"
    if rule == "relative_speed":
        return value > bound, f"{relative_speed_words(value, n)}, at most {bound:,g} allowed"
    share, limit = value / n, f"{100 * bound:g}%"
    if rule == "outputs_seen":
        return share < bound, f"saw {value:.0f} of {n} outputs ({100 * share:.0f}%), at least {limit} required"
    same = f"the same answer to {value:.0f} of {n} questions ({100 * share:.0f}%)"
    return share > bound, f"{same}, at most {limit} allowed"


def relative_speed_words(value: float, n: int) -> str:
    """Say how many times as fast as usual somebody read, by the evidence that ``n`` tells."""
    by = f"median of {n} outputs" if n else "all words of the form by the server's clock over the visit"
    return f"read {value:,.1f} times as fast as usual ({by})"


WHOLE = "a table read in parts keeps sums only; read it whole"


def refused_rules(plan: Plan) -> list[str]:
    """Return a problem for each rule of careless answering, which looks at all that a person answered."""
    return [f"the rule {rule} needs single answers, and {WHOLE}" for rule in declared_rules(plan)]
