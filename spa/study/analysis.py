"""The table ``[analysis]`` of a study file."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from spa.study.toml_table import Text, TomlTable, added


class Analysis(TomlTable):
    """The analysis plan, fixed before the answers are seen."""

    fwer: Annotated[float, Field(gt=0, lt=1)] = 0.05
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    consistency_tau: Annotated[Decimal, Field(ge=1, le=2)] | None = Decimal("1.1")  # None: no such exclusion
    family: Literal["criterion", "all"] = "criterion"
    correction: Literal["holm", "bh"] = "holm"  # Holm, or Benjamini-Hochberg (false discovery rate)
    unit: Literal["auto", "annotator", "item"] = "auto"
    rating_test: Literal["auto", "welch"] = "auto"  # paired where items are shared, or Welch's t in any case
    max_failed_checks: Annotated[int, Field(ge=0)] = 0
    # Rules of careless answering; None: no such rule.
    min_outputs_seen: Annotated[float, Field(gt=0, le=1)] | None = added(None)  # share of the outputs shown
    max_words_per_minute: Annotated[float, Field(gt=0)] | None = added(None)  # at which outputs are read
    max_same_answers: Annotated[float, Field(ge=0.5, lt=1)] | None = added(None)  # share of the most frequent answer
    repeat_submissions: Literal["exclude", "first"] = "exclude"
    extra_answers: Literal["exclude", "keep"] = "exclude"  # came when the place was somebody else's
    incomplete_answers: Literal["exclude", "keep"] = "exclude"  # of visits that did not end
    regularisation: Annotated[float, Field(gt=0)] | None = None  # pseudo-wins added to every pair of Bradley-Terry
    epsilon: Annotated[float, Field(ge=0, lt=1)] = 0.1  # what an LLM may fall behind a person, as it costs less
    equivalence_margin: Annotated[float, Field(gt=0, lt=0.5)] | None = None  # of preferences and choices, from 0.5
    equivalence_margin_ratings: Annotated[float, Field(gt=0)] | None = None  # in points of the scale
    expected: tuple[Text, ...] = ()  # "x > y" or "x ~ y"
