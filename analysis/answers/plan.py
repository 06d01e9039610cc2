"""What was fixed before the answers were seen: the analysis plan, and what a report says of the study."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from analysis.statistics.checks import check_finite, check_level, check_one_of, check_whole
from analysis.statistics.corrections import Correction, Procedure, Verdict
from spa.errors import AnalysisError
from spa.records.covariates import CONTROL

Pair: TypeAlias = tuple[str, str]
Alternative = Literal["two-sided", "greater"]
PostScreening = Literal["bs1534", "p808"]
PairsFrom = Literal["study", "named", "preferences", "expected"]
SIGNS: dict[str, Verdict] = {">": "x", "<": "y", "~": "indifferent"}
EXPECTED = re.compile(r"^(?P<x>.*\S)\s+(?P<sign>[<>~])\s+(?P<y>\S.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A preference expected before the study: x over y, y over x, or indifference."""

    system_x: str
    system_y: str
    expected: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Jury:
    """LLMs whose answers to one question are put together into one of ``id``.

    Attributes
    ----------
    id : str
        Its name in the results.
    raters : tuple of str
        Its members, each a group: an LLM's id or id/variant.
    by : {"mean", "median", "majority"}
        How answers are put together; orders of outputs always by mean rank. Of choices, mean and median say who of the
        two has more of the votes, a tie being half a vote.
    ties : {"middle", "missing"}
        What its answer is where its members are split: of choices a tie, of ratings the mean of the most frequent; or
        none.
    least : int
        Members that must have answered.
    """

    id: str
    raters: tuple[str, ...]
    by: Literal["mean", "median", "majority"] = "mean"
    ties: Literal["middle", "missing"] = "middle"
    least: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How answers are analysed.

    Attributes
    ----------
    fwer : float
        Error rate of each family: the chance of any false finding (``holm``), or the expected share of
        false findings among all findings (``bh``).
    confidence : float
        Level of all intervals.
    consistency_tau : Decimal or None
        Largest sum of the two directions of one comparison that is kept; ``None`` for no such exclusion.
    family : {"criterion", "all"}
        Tests corrected together: of one source, group and criterion, or of all criteria.
    correction : {"holm", "bh"}
        How a family is corrected: Holm, or Benjamini-Hochberg.
    unit : {"auto", "annotator", "item"}
        What a paired test generalises over.
    rating_test : {"auto", "welch"}
        How two mean ratings are compared: paired wherever an annotator rated both systems on one item, or by
        Welch's t over the units of each system in any case.
    max_failed_checks : int
        Attention checks that a person may fail.
    max_failed_controls : int or None
        Checks that a person may fail where systems named as controls count as checks, too; ``None``: nobody leaves for
        having preferred a control.
    min_outputs_seen : float or None
        Least share of the outputs shown that a person must have seen; ``None``, as of the next three: no such rule.
    max_words_per_minute : float or None
        Fastest reading that is believed, in words (of Chinese and Japanese: characters) a minute.
    max_reading_speed : float or None
        Fastest reading that is believed, in multiples of the usual silent speed of the texts' script; by the time on
        screen, and by the server's clock.
    max_same_answers : float or None
        Largest share of a person's answers that may be one and the same.
    usual_answer : float or None
        Share of an answer among people who vary theirs, from which giving it always excludes nobody; ``None``: no
        such exception.
    post_screening : tuple of {"bs1534", "p808"}
        Rules of listening tests by which people leave: :mod:`analysis.answers.post_screening`.
    repeat_submissions : {"exclude", "first"}
        Whether a person who submitted twice leaves, or keeps the first submission.
    extra_answers : {"exclude", "keep"}
        What becomes of answers that came when the person's place was somebody else's.
    incomplete_answers : {"exclude", "keep"}
        What becomes of the finished pages of visits that did not end.
    regularisation : float or None
        Wins added to both directions of every pair before Bradley-Terry is fitted.
    expected : tuple of Expectation
        Preferences expected before the study.
    pairs : tuple of (str, str)
        Pairs of systems that are compared, which alone form the families; empty: those of the study, else of the
        preferences, else of ``expected``, else all.
    references : tuple of str
        Systems that metrics compare the others with: left out of the metrics' correlations, as are systems that are at
        the end of a metric in every item.
    lower_is_better : frozenset of str
        Criteria on which a low rating is good.
    epsilon : float
        Share of outputs that an LLM may fall behind a person in the alternative-annotator test, since it costs less.
    equivalence_margin : float or None
        Distance from 0.5 (of a mean preference, or a share of choices) that does not matter, declared before
        the answers are seen; ``None``: equivalence is not tested.
    equivalence_margin_ratings : float or None
        The same for a difference of mean ratings, in points of their scale; one number for all criteria.
    juries : tuple of Jury
        LLMs that answer as one, too.
    flips : {"tie", "missing"} or None
        What the two answers of an annotator to one question of choices are, asked in both orders of the outputs, where
        they differ; ``None``: they stay two answers.
    makers : tuple of (str, str)
        Who made systems and LLM raters: their ids, each with the name of its maker.
    examples : tuple of (str, str)
        LLMs with answered examples, each with the name of the same LLM without them.
    max_flips : float
        Share of such questions above which a report names who answers them.
    williams_alternative : {"two-sided", "greater"}
        Whether Williams's tests ask which of two measures is closer to people, or whether the first measure is closer
        than each other, as Chhun et al. (2024) do.
    williams_correction : {"bh", "holm", "by"}
        How they are corrected.
    williams_criteria : {"apart", "together"} or None
        Whether criteria are; ``None``: as ``family`` says.
    control : tuple of str
        What strengths are fitted with as well: "length", "markdown", "column:NAME".
    compare_people_by : tuple of str
        Columns of annotators (``screening:ID``, ``demographic:NAME``, ...) whose values divide people into subgroups
        that are compared.
    compare_people_least : int
        People, below whom neither figures nor number of a subgroup are shown.
    camps : bool
        Whether is asked if people fall into two camps.
    seed : int
        Kept with the results; nothing random is drawn yet.
    pairs_from : {"study", "named", "preferences", "expected"} or None
        Who named ``pairs``: set by the analysis; ``None``: every two systems are compared.
    """

    fwer: float = 0.05
    confidence: float = 0.95
    consistency_tau: Decimal | None = Decimal("1.1")
    family: Literal["criterion", "all"] = "criterion"
    unit: Literal["auto", "annotator", "item"] = "auto"
    rating_test: Literal["auto", "welch"] = "auto"
    max_failed_checks: int = 0
    max_failed_controls: int | None = None
    min_outputs_seen: float | None = None
    max_words_per_minute: float | None = None
    max_reading_speed: float | None = None
    max_same_answers: float | None = None
    usual_answer: float | None = None
    post_screening: tuple[PostScreening, ...] = ()
    repeat_submissions: Literal["exclude", "first"] = "exclude"
    extra_answers: Literal["exclude", "keep"] = "exclude"
    incomplete_answers: Literal["exclude", "keep"] = "exclude"
    regularisation: float | None = None
    expected: tuple[Expectation, ...] = ()
    control: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    references: tuple[str, ...] = ()
    lower_is_better: frozenset[str] = frozenset()
    epsilon: float = 0.1
    equivalence_margin: float | None = None
    equivalence_margin_ratings: float | None = None
    seed: int = 0
    correction: Correction = "holm"
    pairs_from: PairsFrom | None = None
    juries: tuple[Jury, ...] = ()
    flips: Literal["tie", "missing"] | None = None
    max_flips: float = 0.2
    williams_alternative: Alternative = "two-sided"
    williams_correction: Procedure = "bh"
    williams_criteria: Literal["apart", "together"] | None = None
    makers: tuple[tuple[str, str], ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    compare_people_by: tuple[str, ...] = ()
    compare_people_least: int = 10
    camps: bool = False

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("fwer", "confidence"):
            check_level(name, getattr(self, name))
        check_one_of("family", self.family, ("criterion", "all"))
        check_one_of("unit", self.unit, ("auto", "annotator", "item"))
        check_one_of("rating_test", self.rating_test, ("auto", "welch"))
        check_one_of("repeat_submissions", self.repeat_submissions, ("exclude", "first"))
        check_one_of("extra_answers", self.extra_answers, ("exclude", "keep"))
        check_one_of("incomplete_answers", self.incomplete_answers, ("exclude", "keep"))
        for rule in self.post_screening:
            check_one_of("post_screening", rule, ("bs1534", "p808"))
        check_whole("max_failed_checks", self.max_failed_checks)
        check_whole("seed", self.seed)
        check_whole("compare_people_least", self.compare_people_least, least=3)
        if len({*self.compare_people_by}) < len(self.compare_people_by):
            raise ValueError(f"compare_people_by: expected each column once, got {self.compare_people_by!r}")
        if self.max_failed_controls is not None:
            check_whole("max_failed_controls", self.max_failed_controls)
        if self.min_outputs_seen is not None and not 0 < self.min_outputs_seen <= 1:
            raise ValueError(f"min_outputs_seen must lie in (0, 1], got {self.min_outputs_seen!r}")
        for name in ("max_words_per_minute", "max_reading_speed"):
            if (speed := getattr(self, name)) is not None:
                check_finite(name, speed, above=0)
        if self.max_same_answers is not None and not 0.5 <= self.max_same_answers < 1:
            raise ValueError(f"max_same_answers must lie in [0.5, 1), got {self.max_same_answers!r}")
        if self.usual_answer is not None and not 0 < self.usual_answer <= 1:
            raise ValueError(f"usual_answer must lie in (0, 1], got {self.usual_answer!r}")
        if self.regularisation is not None:
            check_finite("regularisation", self.regularisation, above=0)
        if self.flips is not None:
            check_one_of("flips", self.flips, ("tie", "missing"))
        if not 0 < self.max_flips < 1:
            raise ValueError(f"max_flips must lie in (0, 1), got {self.max_flips!r}")
        check_one_of("williams_alternative", self.williams_alternative, ("two-sided", "greater"))
        check_one_of("williams_correction", self.williams_correction, ("bh", "holm", "by"))
        if self.williams_criteria is not None:
            check_one_of("williams_criteria", self.williams_criteria, ("apart", "together"))
        if not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon must lie in [0, 1), got {self.epsilon!r}")
        if self.correction not in ("holm", "bh"):
            raise ValueError(f'correction must be "holm" or "bh", got {self.correction!r}')
        if self.consistency_tau is not None and not 1 <= self.consistency_tau <= 2:
            raise ValueError(f"consistency_tau must lie in [1, 2], got {self.consistency_tau}")
        if self.equivalence_margin is not None and not 0 < self.equivalence_margin < 0.5:
            raise ValueError(f"equivalence_margin must lie between 0 and 0.5, got {self.equivalence_margin!r}")
        for control in self.control:
            if re.match(CONTROL, control) is None:
                raise ValueError(f'control must be "length", "markdown" or "column:NAME", got {control!r}')
        if self.equivalence_margin_ratings is not None:
            check_finite("equivalence_margin_ratings", self.equivalence_margin_ratings, above=0)


def parse_expectations(texts: Iterable[str], place: str = "expected") -> tuple[Expectation, ...]:
    """Read "x > y" (x is preferred), "x < y" (y is preferred) and "x ~ y" (indifferent).

    >>> parse_expectations(["human ~ gpt-3"])[0].expected
    'indifferent'
    """
    found, problems = [], []
    for text in texts:
        match = EXPECTED.match(text.strip())
        if match is None or match["x"] == match["y"]:
            problems.append(f'{place}: expected "x > y", "x < y" or "x ~ y" with two systems and spaces, got {text!r}')
            continue
        found.append(Expectation(system_x=match["x"], system_y=match["y"], expected=SIGNS[match["sign"]]))
    if problems:
        raise AnalysisError(*problems)
    return tuple(found)
