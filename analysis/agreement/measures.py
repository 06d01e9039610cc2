"""The measures of agreement that an analysis gives: one entry each, read by the analysis, the report and the docs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from analysis.agreement.concordance import kendall_w
from analysis.agreement.data import ReliabilityData
from analysis.agreement.gwet import coefficient_of_units, share_alike
from analysis.agreement.icc import FORMS, Form, every_icc
from analysis.agreement.kappa import cohen_kappa
from analysis.agreement.krippendorff import Level, alpha_of_statistic
from analysis.agreement.pairwise import FEW_ANNOTATORS, mean_kendall_tau
from analysis.agreement.result import Agreement, undefined
from analysis.agreement.units import AnsweredUnits
from analysis.statistics.reasons import why

Source = Literal["ratings", "preferences", "choices"]
Needs = Literal["sums", "counts", "answers"]
OF_UNNAMED: tuple[Form, ...] = ("icc1", "icc1k")  # forms in which raters differ from unit to unit
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
REPLICATES = 1000
MOST_PROFILES = 100_000  # units with different sums up to which tables in parts are resampled
NO_INTERVAL = why("no_interval_too_many_profiles", most=MOST_PROFILES)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answered:
    """Answers of one group to one criterion.

    ``level`` is the level of measurement that fits their scale, and ``categories`` are the answers that could be given,
    where that is known. ``named`` says that raters are known from unit to unit; else only what asks nobody's name is
    measured. ``data`` are the single answers, ``None`` of tables in parts.
    """

    source: Source
    units: AnsweredUnits
    data: ReliabilityData | None = None
    level: Level
    confidence: float
    seed: Sequence[int]
    categories: Sequence[float] | None = None
    named: bool = True

    @property
    def answers(self) -> ReliabilityData:
        """The single answers, for measures that need them."""
        assert self.data is not None
        return self.data

    @property
    def known(self) -> tuple[Needs, ...]:
        """What is known of the answers."""
        return ("sums",) if self.units.fold is None else ("sums", "counts", *(("answers",) if self.data else ()))

    def rng(self, *more: int) -> np.random.Generator:
        """Return the source of randomness of one measure, which no other one moves on."""
        return np.random.default_rng([*self.seed, *more])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """One measure, in one or several forms.

    Attributes
    ----------
    name, explanation, published : str
        What it is called, what it says in a line that a reader from outside the field understands, and where from.
    sources : tuple of str
        Kinds of answers that it is for.
    compute : function of Answered
        Returns one :class:`Agreement` a form.
    needs : {"sums", "counts", "answers"}
        Whether it follows from the sums of units, from how often each answer was given to each, or only from single
        answers, so that tables in parts leave it out.
    left_out : str
        What that is called where it is left out.
    applies : function of Answered
        Whether it is given for these answers of its sources; always, unless stated.
    forms : tuple of str
        Names of its forms in results.json.
    columns : mapping of str to str
        Titles of its columns in the report by the name of the form; forms without one stand in results.json only.
    percent : bool
        Whether the report shows it in percent.
    """

    name: str
    explanation: str
    published: str
    sources: tuple[Source, ...]
    forms: tuple[str, ...]
    needs: Needs
    compute: Callable[[Answered], Iterable[Agreement]]
    applies: Callable[[Answered], bool] = lambda _: True
    columns: Mapping[str, str] = field(default_factory=dict)
    percent: bool = False
    left_out: str = ""


def _alphas(answered: Answered) -> Iterator[Agreement]:
    """Return alpha of ratings at every level, of judgements at the one that fits; of sums at the interval level."""
    units, several = answered.units, answered.source == "ratings"
    levels: tuple[Level, ...] = LEVELS if several else (answered.level,)
    for place, level in enumerate(levels):
        if units.fold is None and level != "interval":
            continue
        if units.reason is not None:
            yield undefined(f"krippendorff_alpha_{level}", units, units.reason, level=level)
            continue
        statistic, times = units.alpha(level)
        many = answered.data is None and len(times) > MOST_PROFILES
        found = alpha_of_statistic(
            statistic,
            times,
            level=level,
            n_items=units.n_pairable,
            n_annotators=units.n_annotators,
            confidence=answered.confidence,
            replicates=REPLICATES,
            rng=None if many else answered.rng(place) if several else answered.rng(),
        )
        yield replace(found, reason=NO_INTERVAL) if many else found


def _icc(answered: Answered) -> Iterable[Agreement]:
    forms = FORMS if answered.named else OF_UNNAMED
    return every_icc(answered.answers, confidence=answered.confidence, forms=forms)


MEASURES = (
    Measure(
        name="Krippendorff\u2019s alpha",
        explanation="agreement beyond chance, missing answers allowed; 1 = full agreement, 0 = as by chance",
        published="Krippendorff (2011)",
        sources=("ratings", "preferences", "choices"),
        forms=tuple(f"krippendorff_alpha_{level}" for level in get_args(Level)),
        needs="sums",
        compute=_alphas,
    ),
    Measure(
        name="Exact agreement",
        explanation="share of units to which all gave the very same answer (%)",
        published="Wilson (1927) for the interval",
        sources=("ratings", "choices"),
        needs="counts",
        compute=lambda answered: [share_alike(answered.units, confidence=answered.confidence)],
        applies=lambda answered: answered.source == "ratings" or answered.level == "nominal",
        forms=("exact_agreement",),
        columns={"exact_agreement": "All alike"},
        percent=True,
    ),
    Measure(
        name="Gwet\u2019s AC1",
        explanation="Gwet\u2019s: alike, but steadier where one answer dominates",
        published="Gwet (2008, 2014)",
        sources=("ratings", "choices"),
        needs="counts",
        compute=lambda answered: [
            coefficient_of_units(
                "gwet_ac1",
                answered.units,
                categories=answered.categories,
                confidence=answered.confidence,
                weights="identity",
            )
        ],
        applies=lambda answered: answered.level != "interval",
        forms=("gwet_ac1", "gwet_ac2"),
        columns={"gwet_ac1": "AC1"},
    ),
    Measure(
        name="ICC",
        explanation="share of the differences that lies between units, for one rater; ICC2k: for the mean of all "
        "raters of a unit",
        published="Shrout and Fleiss (1979); McGraw and Wong (1996)",
        sources=("ratings",),
        needs="answers",
        left_out="ICC",
        compute=_icc,
        forms=FORMS,
        columns={"icc2": "ICC2", "icc2k": "ICC2k"},
    ),
    Measure(
        name="Kendall\u2019s W",
        explanation="how far all raters put the units that all answered in one order; 1 = one order",
        published="Kendall and Babington Smith (1939)",
        sources=("ratings",),
        needs="answers",
        left_out="Kendall's W",
        compute=lambda answered: [
            kendall_w(answered.answers, confidence=answered.confidence, rng=answered.rng(len(LEVELS)))
        ],
        applies=lambda answered: answered.named,
        forms=("kendall_w",),
        columns={"kendall_w": "W"},
    ),
    Measure(
        name="Mean tau",
        explanation="how alike two raters rank the units, averaged over pairs of up to 10 raters",
        published="Kendall (1945)",
        sources=("ratings",),
        needs="answers",
        left_out="mean tau",
        compute=lambda answered: [mean_kendall_tau(answered.answers)],
        applies=lambda answered: answered.named and answered.units.n_annotators <= FEW_ANNOTATORS,
        forms=("mean_kendall_tau",),
        columns={"mean_kendall_tau": "Mean tau"},
    ),
    Measure(
        name="Fleiss\u2019 kappa",
        explanation="Fleiss\u2019: alike or not, beyond what the shares of the answers give by chance",
        published="Fleiss (1971); Gwet (2014)",
        sources=("choices",),
        needs="counts",
        compute=lambda answered: [coefficient_of_units("fleiss_kappa", answered.units, confidence=answered.confidence)],
        applies=lambda answered: answered.named and answered.level == "nominal",
        forms=("fleiss_kappa",),
        columns={"fleiss_kappa": "Kappa"},
    ),
    Measure(
        name="Cohen\u2019s kappa",
        explanation="of two raters: alike or not, beyond what their own habits give by chance",
        published="Cohen (1960); Fleiss, Cohen and Everitt (1969)",
        sources=("choices",),
        needs="answers",
        left_out="Cohen's kappa",
        compute=lambda answered: [cohen_kappa(answered.answers, confidence=answered.confidence)],
        applies=lambda answered: answered.named and answered.level == "nominal" and answered.units.n_annotators == 2,
        forms=("cohen_kappa",),
    ),
)
if TYPE_CHECKING:
    MeasureName = str
else:
    MeasureName = Literal[tuple(form for measure in MEASURES for form in measure.forms)]


def measure_agreement(answered: Answered) -> Iterator[Agreement]:
    """Compute every measure that applies; where nothing can agree, alpha alone, which says why."""
    units, level = answered.units, answered.level
    if units.reason is not None and not units.constant:
        yield undefined(f"krippendorff_alpha_{level}", units, units.reason, level=level)
        return
    for measure in MEASURES:
        if answered.source in measure.sources and measure.needs in answered.known and measure.applies(answered):
            yield from measure.compute(answered)


def markdown_table() -> str:
    """Return the measures as a table of the docs."""
    rows = (
        f"| {measure.name} | {', '.join(measure.sources)} | {measure.explanation} | {measure.published} |"
        for measure in MEASURES
    )
    return "\n".join(["| measure | of | says | source |", "|---|---|---|---|", *rows])
