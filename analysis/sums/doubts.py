"""Which scores of a table in parts may be no answers, or lie on another scale, from how often each was given."""

from __future__ import annotations

import polars as pl

from analysis.answers.codes import UNSCALED, AnswerCode, find_codes
from analysis.answers.other_scales import OtherScale, find_other_scales
from analysis.records.results import Results
from analysis.sums.criterion_sums import by_criterion, option_counts, ways_of_totals
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import AnswerTotals

COUNTED = {
    **dict.fromkeys(("criterion", "annotator_id", "annotator_kind"), pl.String),
    "value": pl.Float64,
    "n": pl.Int64,
}


def doubtful_sums(totals: AnswerTotals) -> tuple[tuple[AnswerCode, ...], tuple[OtherScale, ...], bool]:
    """Return what :func:`codes` and :func:`other_scales` find in a table of ratings, and whether all was looked at.

    Criteria with scores that were repeated, or more different ones than are counted, are not; nor is looked whether an
    LLM's scores are people's, one number off, which needs both scores of an output.
    """
    if totals.kind != "ratings":
        return (), (), True
    ways, names = ways_of_totals(totals), None
    if totals.names is not None:
        names = dict(totals.names.select("annotator", "annotator_id").iter_rows())
    found, whole = [pl.DataFrame(schema=COUNTED)], True
    for part in by_criterion(totals):
        if ways.get(part.criterion) in UNSCALED:
            continue
        counts = option_counts(part, "annotator")
        if counts is None:
            whole = False
            continue
        own = part.scores["annotator"]["annotator"].tolist()
        wide = pl.DataFrame({"annotator_id": [str(one) if names is None else names[one] for one in own]}).with_columns(
            pl.Series(str(place), counts[:, place]) for place in range(counts.shape[1])
        )
        long = wide.unpivot(index="annotator_id", variable_name="place", value_name="n").filter(pl.col("n") > 0)
        long = long.group_by("annotator_id", "place").agg(pl.col("n").sum())
        found.append(
            long.select(
                pl.lit(part.criterion).alias("criterion"),
                "annotator_id",
                pl.lit("llm" if part.llm else "human").alias("annotator_kind"),
                pl.Series("value", part.options[long["place"].cast(pl.Int64).to_numpy()]),
                pl.col("n").cast(pl.Int64),
            )
        )
    together = pl.concat(found)
    once = pl.col("criterion", "annotator_id", "annotator_kind", "value")
    counts_by_value = together.group_by(once).agg(pl.col("n").sum()).sort(once)
    codes = find_codes(counts_by_value, totals.scales)
    settled = {one.annotator_id: one for one in totals.rescaled}
    whole = whole and not any(kind == "llm" for _, kind in totals.groups)
    return codes, find_other_scales(None, counts_by_value, totals.scales, codes, settled), whole


DOCUMENTS = NeedsSingleAnswers("documents", ("warning_rows",), lambda *_: "whether items are segments of documents")
NEAR_ITEMS = NeedsSingleAnswers("near_items", ("warning_rows",), lambda *_: "whether ids of items are nearly the same")


def _codes(totals: AnswerTotals, results: Results) -> str | None:
    looked_at = doubtful_sums(totals)[2]
    return None if looked_at else "some signs that scores mean no answer or lie on another scale"


CODES = NeedsSingleAnswers("codes", ("warning_rows",), _codes)
