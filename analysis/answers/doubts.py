"""What may be no score, or a score on another scale, in checked tables."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from analysis.answers.codes import AnswerCode, find_codes, value_counts
from analysis.answers.options import Reading
from analysis.answers.other_scales import OtherScale, find_other_scales


def doubtful_scores(
    tables: Mapping[str, pl.DataFrame], reading: Reading
) -> tuple[tuple[AnswerCode, ...], tuple[OtherScale, ...]]:
    """Return what may be no score, or a score on another scale; where annotators have no names all have one scale."""
    codes: tuple[AnswerCode, ...] = ()
    others: tuple[OtherScale, ...] = ()
    if "ratings" in tables:
        counts = value_counts(tables["ratings"])
        codes = find_codes(counts, reading.scales)
        if not (reading.unnamed or reading.means):
            others = find_other_scales(tables["ratings"], counts, reading.scales, codes, reading.rescale)
    if "preferences" in tables:
        codes += find_codes(value_counts(tables["preferences"]), (), "preferences")
    return codes, others
