"""Who is left out of a listening test afterwards: by hidden reference and mid anchor, or by votes that hardly vary.

Rules concern people (and simulated annotators, who stand for people), and leave out only where the plan declares them.

References
----------
ITU-R Recommendation BS.1534-3 (2015), section 4.1.2. ITU-T Recommendation P.808 (2021), whose toolkit leaves sessions
with a variance of votes below 0.1 out of the analysis, though they are accepted and paid.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import polars as pl

from analysis.answers.columns import Scale
from analysis.answers.unranked import UnrankedRatings
from analysis.statistics.record import Count, Record
from spa.errors import AnalysisError, ArgumentProblem

BS1534, P808 = "bs1534", "p808"
REFERENCE_RULE, ANCHOR_RULE, VOTES_RULE = "hidden_reference", "mid_anchor", "constant_votes"
BOUND = 90.0  # of 100: a hidden reference below, a mid anchor above
OFTEN = 15  # per cent of a listener's own items, above which the listener leaves
SHARED = 25  # per cent of listeners, above which an item says nothing of them
MID = (6500.0, 7500.0)  # where the highs of the mid anchor are cut off, in Hz: 7 kHz
LEAST_VARIANCE = 0.1  # of the votes of a session, n - 1 in the denominator
FEWEST_VOTES = 2
NEAR = 1e-9  # of rounding: a variance of exactly 0.1 is not below it
NAMED = {"group": pl.String, "annotator_id": pl.String, "item_id": pl.String, "criterion": pl.String}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ListenerCheck(Record):
    """How one listener rated the hidden reference and the mid anchor, by the rules of BS.1534-3."""

    group: str
    annotator_id: str
    reference_below: Count
    """Own items whose hidden reference is rated below 90."""
    reference_items: Count
    """Own items with a rated hidden reference."""
    anchor_above: Count
    """Own items whose mid anchor is rated above 90, of those that count."""
    anchor_items: Count
    """Own items with a rated mid anchor that count."""
    anchor_not_counted: Count
    """Own items that do not: over 25% of listeners rate their mid anchor above 90, or it hardly differs."""
    fails_reference: bool
    """More than 15% of the hidden references are rated below 90."""
    fails_anchor: bool
    """More than 15% of the mid anchors are rated above 90."""

    def evidence(self, rule: str) -> str:
        """Say by which share a rule leaves this listener out."""
        if rule == REFERENCE_RULE:
            return _share("hidden reference below", self.reference_below, self.reference_items)
        return _share("mid anchor above", self.anchor_above, self.anchor_items)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ConstantVotes(Record):
    """A session whose votes hardly vary, by the rule of P.808's toolkit."""

    group: str
    annotator_id: str
    assignment_id: str | None
    """Null: the answers tell no sessions apart."""
    votes: Count
    variance: float
    """Of the votes, n - 1 in the denominator."""


def _share(what: str, n: int, of: int) -> str:
    return f"rated the {what} {BOUND:g} in {n} of {of} own items ({n / of:.1%}), {OFTEN}% allowed"


def check_listeners(
    unranked: UnrankedRatings, *, left_out: Collection[tuple[str, str | None]] = ()
) -> list[ListenerCheck]:
    """Judge every listener by the own items in which the hidden reference, or the mid anchor, was rated.

    A listener's repeats of an item and criterion are averaged. Items whose mid anchor more than 25% of listeners rate
    above 90, and those of ``unranked.unaltered``, do not count for the second rule.

    Parameters
    ----------
    unranked : UnrankedRatings
        What was rated of hidden references and anchors.
    left_out : collection of (annotator_id, assignment_id)
        Whose answers other rules left out: they are not judged, and nobody is judged by them.

    Returns
    -------
    list of ListenerCheck
        Listeners in the order in which they first answer; none where no hidden reference was rated.
    """
    references, anchors = unranked.of("hidden_reference"), mid_anchors(unranked)
    if unranked.ratings is None or not references:
        return []
    rated = _of_people(unranked.ratings, left_out)
    below = _by_item(rated, references).with_columns(hit=pl.col("value") < BOUND, counts=pl.lit(value=True))
    above = _by_item(rated, anchors).with_columns(hit=pl.col("value") > BOUND)
    plain = above.group_by("item_id", "annotator_id").agg(pl.col("hit").any())
    shared = plain.group_by("item_id").agg(pl.col("hit").sum(), n=pl.len())
    common = shared.filter(100 * pl.col("hit") > SHARED * pl.col("n"))["item_id"].to_list()
    above = above.with_columns(counts=~pl.col("item_id").is_in([*common, *unranked.unaltered]))
    of_references, of_anchors = _counts(below), _counts(above)
    people = rated.select("group", "annotator_id").unique(maintain_order=True)
    nothing = (0, 0, 0)
    return [
        _checked(group, name, of_references.get((group, name), nothing), of_anchors.get((group, name), nothing))
        for group, name in people.iter_rows()
    ]


def _checked(group: str, who: str, reference: tuple[int, int, int], anchor: tuple[int, int, int]) -> ListenerCheck:
    (below, of, _), (above, anchors, others) = reference, anchor
    return ListenerCheck(
        group=group,
        annotator_id=who,
        reference_below=below,
        reference_items=of,
        anchor_above=above,
        anchor_items=anchors,
        anchor_not_counted=others,
        fails_reference=100 * below > OFTEN * of,
        fails_anchor=100 * above > OFTEN * anchors,
    )


def _counts(table: pl.DataFrame) -> dict[tuple[str, str], tuple[int, int, int]]:
    counts = pl.col("counts")
    found = table.group_by("group", "annotator_id").agg(
        hit=(pl.col("hit") & counts).sum(), of=counts.sum(), others=(~counts).sum()
    )
    return {(group, who): (hit, of, others) for group, who, hit, of, others in found.iter_rows()}


def mid_anchors(unranked: UnrankedRatings) -> list[str]:
    """Return the anchors whose highs were cut off at 7 kHz."""
    return [one.system for one in unranked.systems if is_mid(one.low_pass)]


def is_mid(low_pass: float | None) -> bool:
    """Tell whether an anchor that was cut off there, in Hz, is the mid anchor."""
    return low_pass is not None and MID[0] <= low_pass <= MID[1]


def _of_people(ratings: pl.DataFrame, left_out: Collection[tuple[str, str | None]]) -> pl.DataFrame:
    """Return the answered ratings of people as strings, without those that others rules left out."""
    kept = ratings.filter(pl.col("annotator_kind") != "llm", pl.col("value").is_not_null())
    kept = kept.with_columns(pl.col([*NAMED, "system", "assignment_id"]).cast(pl.String))
    whole = [who for who, visit in left_out if visit is None]
    visits = [f"{who}\0{visit}" for who, visit in left_out if visit is not None]
    own = pl.concat_str("annotator_id", pl.lit("\0"), "assignment_id")
    return kept.filter(~pl.col("annotator_id").is_in(whole), ~own.is_in(visits).fill_null(value=False))


def _by_item(rated: pl.DataFrame, systems: Collection[str]) -> pl.DataFrame:
    """Return one value a listener, item and criterion, the mean of repeats."""
    own = rated.filter(pl.col("system").is_in([*systems]))
    return own.group_by([*NAMED], maintain_order=True).agg(pl.col("value").mean())


def constant_votes(
    ratings: pl.DataFrame | None, unranked: UnrankedRatings, *, left_out: Collection[tuple[str, str | None]] = ()
) -> list[ConstantVotes]:
    """Return the sessions of people whose votes have a variance below 0.1, hidden references and anchors among them.

    A session is an assignment; where the answers name none, all that a person answered. Knowledge of the answers to
    checks (gold and trap clips) stands in no table of ratings, so these do not count.
    """
    tables = [table for table in (ratings, unranked.ratings) if table is not None]
    if not tables:
        return []
    columns = ["group", "annotator_id", "assignment_id", "annotator_kind", "item_id", "criterion", "system", "value"]
    every = pl.concat([table.select(pl.col(columns[:-1]).cast(pl.String), "value") for table in tables])
    rated = _of_people(every, left_out)
    sessions = rated.group_by("group", "annotator_id", "assignment_id", maintain_order=True).agg(
        votes=pl.len(), variance=pl.col("value").var()
    )
    found = sessions.filter(pl.col("votes") >= FEWEST_VOTES, pl.col("variance") < LEAST_VARIANCE - NEAR)
    return [ConstantVotes(**row) for row in found.to_dicts()]


def votes_evidence(row: ConstantVotes) -> str:
    """Say by which variance a session is left out."""
    return f"{row.votes} votes with a variance of {row.variance:.3f}, below {LEAST_VARIANCE:g}"


def check_scale(ratings: pl.DataFrame | None, unranked: UnrankedRatings, scales: Collection[Scale]) -> None:
    """Refuse BS.1534's rules where ratings do not go from 0 to 100, or nothing is a hidden reference.

    Raises
    ------
    AnalysisError
        In one line.
    """
    tables = [table for table in (ratings, unranked.ratings) if table is not None]
    after = None
    if not unranked.of("hidden_reference"):
        after = ": expected a hidden reference, got none; name it with --role SYSTEM=hidden_reference"
    elif wrong := next((one for one in scales if (one.low, one.high) != (0, 100)), None):
        after = f": expected ratings from 0 to 100, got {wrong.low:g} to {wrong.high:g}"
    elif not any(_is_continuous(table) for table in tables):
        highest = max((top for table in tables if (top := table["value"].max()) is not None), default=None)
        if isinstance(highest, float | int) and highest < BOUND:
            after = f": expected ratings from 0 to 100, got none above {highest:g}"
    if after is not None:
        raise AnalysisError(
            ArgumentProblem("post_screening", in_python=f"=({BS1534!r},)", in_command=f" {BS1534}", after=after)
        )


def _is_continuous(table: pl.DataFrame) -> bool:
    return "elicitation" in table.columns and bool((table["elicitation"].cast(pl.String) == "continuous").any())


def listener_evidence(checks: Collection[ListenerCheck]) -> Iterator[tuple[str, str, str, str]]:
    """Yield group, annotator, rule and evidence of every rule that a listener fails."""
    for check in checks:
        for rule, fails in ((REFERENCE_RULE, check.fails_reference), (ANCHOR_RULE, check.fails_anchor)):
            if fails:
                yield check.group, check.annotator_id, rule, check.evidence(rule)
