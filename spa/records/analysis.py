"""The tables ``[analysis]`` and ``[stopping]`` of a study file."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from spa.records.covariates import CONTROL
from spa.records.toml_table import Ident, Text, TomlTable, added, renamed

PEOPLE_COLUMN = r"^\S(.*\S)?$"  # what is known of annotators, such as screening:native


class Williams(TomlTable):
    """How Williams's tests of two correlations with people are made (``[analysis.williams]``)."""

    alternative: Literal["two-sided", "greater"] = "two-sided"  # greater: is the first measure closer than each other
    correction: Literal["bh", "holm", "by"] = "bh"
    criteria: Literal["apart", "together"] | None = None  # corrected apart or together; None: as family says


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
    max_reading_speed: Annotated[float, Field(gt=0)] | None = added(None)  # in multiples of the usual silent speed of
    # the texts' script, by the time on screen and by the server's clock
    max_same_answers: Annotated[float, Field(ge=0.5, lt=1)] | None = added(None)  # share of the most frequent answer
    usual_answer: Annotated[float, Field(gt=0, le=1)] | None = added(None)  # share among others from which giving it
    # always excludes nobody; None: no such exception
    max_flips: Annotated[float, Field(gt=0, lt=1)] = added(0.2)  # share of choices changed by the order of outputs,
    # above which a report names who gave them
    post_screening: tuple[Literal["bs1534", "p808"], ...] = added(())  # rules of listening tests that leave people out
    repeat_submissions: Literal["exclude", "first"] = "exclude"
    extra_answers: Literal["exclude", "keep"] = "exclude"  # came when the place was somebody else's
    incomplete_answers: Literal["exclude", "keep"] = "exclude"  # of visits that did not end
    regularisation: Annotated[float, Field(gt=0)] | None = None  # pseudo-wins added to every pair of Bradley-Terry
    epsilon: Annotated[float, Field(ge=0, lt=1)] = 0.1  # what an LLM may fall behind a person, as it costs less
    equivalence_margin: Annotated[float, Field(gt=0, lt=0.5)] | None = None  # of preferences and choices, from 0.5
    equivalence_margin_ratings: Annotated[float, Field(gt=0)] | None = None  # in points of the scale
    expected: tuple[Text, ...] = ()  # "x > y" or "x ~ y"
    williams: Williams = added(Williams())
    control: tuple[Annotated[str, Field(pattern=CONTROL)], ...] = added(())  # what strengths are fitted with as well
    compare_people_by: tuple[Annotated[str, Field(pattern=PEOPLE_COLUMN)], ...] = added(())  # columns of annotators
    compare_people_least: Annotated[int, Field(ge=3)] = added(10)  # people, below whom a subgroup is not shown
    camps: bool = added(False)  # whether people fall into two camps


class ReportFiles(TomlTable):
    """What a report writes beside itself."""

    paper: Literal["acl", "neurips", "generic"] | None = None  # class whose columns tables and figures fit; None: none


class Audit(TomlTable):
    """A rater answers all forms, and people so many of them as [people] asks for, or until pairs are decided."""

    rater: Ident  # that answers all forms, one of [[raters]]
    forms: Annotated[int, Field(ge=8, le=1_000_000)]  # drawn in all; people answer a part
    draw: Literal["even", "unsure"] = added("even")  # forms of which the rater is unsure are put before people as
    # often as others, or more often, in waves
    rule: Literal["fixed", "when_decided"] = added("fixed")  # after all annotators; when_decided: in waves, until every
    # pair is
    wave: Annotated[int, Field(ge=2)] = added(10)  # people for whom forms are drawn together
    effect: Annotated[float, Field(gt=0, lt=0.5)] = added(0.1)  # smallest of interest, as a distance from 0.5
    least: Annotated[int, Field(ge=2)] = added(10)  # people before anything is decided

    @property
    def in_waves(self) -> bool:
        """Whether people's forms are drawn wave by wave, each when the one before has come in."""
        return self.draw == "unsure" or self.rule == "when_decided"


class Stopping(TomlTable):
    """When a study ends: after its planned annotators, or once every pair that it asks about is decided."""

    rule: Literal["fixed", "when_decided"] = "fixed"
    answers: Literal["preferences", "ratings", "choices"] | None = None  # that decide; None: the first kind asked
    criteria: tuple[Ident, ...] | None = None  # that decide; None: "overall" where it is asked, else all
    error_rate: Annotated[float, Field(gt=0, lt=0.5)] | None = None  # at every moment; None: [analysis] fwer
    effect: Annotated[float, Field(gt=0, lt=0.5)] = 0.1  # smallest of interest, as a distance from 0.5
    margin: Annotated[float, Field(gt=0, lt=0.5)] | None = None  # closer to 0.5 is equal; None: nothing is
    top: Annotated[int, Field(ge=1)] | None = None  # decide only which so many systems win most often, instead of pairs
    order: bool = added(False)  # decide the order of all systems instead of pairs
    tolerance: Annotated[float, Field(gt=0, lt=1)] = renamed(0.05, "tolerance", former="epsilon")  # by how much less a
    # system may win than one named after it
    freed: Literal["shorter", "open_pairs"] = "shorter"  # what becomes of the place of decided pairs in later forms
    counted: Literal["begun", "completed"] | None = added(None)  # order in which people count; None: "begun", in
    # stores of the first release "completed"
    least: Annotated[int, Field(ge=2)] = 10  # annotators before anything is decided
    most: Annotated[int, Field(ge=2)] | None = None  # annotators at most; None: [people] annotators
    wave: Annotated[int, Field(ge=1)] = 10  # places that a platform opens at once
