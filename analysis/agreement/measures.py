"""The measures of agreement that an analysis gives: one entry each, read by the analysis, the report and the docs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from analysis.agreement.concordance import kendall_w
from analysis.agreement.counts import fold_profiles
from analysis.agreement.data import ReliabilityData
from analysis.agreement.gwet import exact_agreement, fleiss_kappa, gwet_ac1
from analysis.agreement.icc import FORMS, Form, every_icc
from analysis.agreement.kappa import cohen_kappa
from analysis.agreement.krippendorff import Level, alpha_of_statistic, alpha_statistic, krippendorff_alpha
from analysis.agreement.pairwise import FEW_ANNOTATORS, mean_kendall_tau
from analysis.agreement.result import Agreement, no_answer

Source = Literal["ratings", "preferences", "choices"]
OF_UNNAMED: tuple[Form, ...] = ("icc1", "icc1k")  # forms in which raters differ from unit to unit
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
REPLICATES = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answered:
    """Answers of one group to one criterion.

    ``level`` is the level of measurement that fits their scale, and ``categories`` are the answers that could be given,
    where that is known. ``named`` says that raters are known from unit to unit; else only what asks nobody's name is
    measured.
    """

    source: Source
    data: ReliabilityData
    level: Level
    confidence: float
    seed: Sequence[int]
    categories: Sequence[float] | None = None
    named: bool = True

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
    compute: Callable[[Answered], Iterable[Agreement]]
    applies: Callable[[Answered], bool] = lambda _: True
    columns: Mapping[str, str] = field(default_factory=dict)
    percent: bool = False


def _alphas(answered: Answered) -> Iterator[Agreement]:
    """Return alpha of ratings at every level, of judgements at the one that fits."""
    data, several = answered.data, answered.source == "ratings"
    levels: tuple[Level, ...] = LEVELS if several else (answered.level,)
    if no_answer(data) is not None:
        yield from (krippendorff_alpha(data, level=level) for level in levels)  # says why there is none
        return
    profiles = fold_profiles(data, at_least=2)
    for place, level in enumerate(levels):
        yield alpha_of_statistic(
            alpha_statistic(profiles, level),
            profiles.units,
            level=level,
            n_items=data.n_pairable,
            n_annotators=data.n_annotators,
            confidence=answered.confidence,
            replicates=REPLICATES,
            rng=answered.rng(place) if several else answered.rng(),
        )


MEASURES = (
    Measure(
        name="Krippendorff\u2019s alpha",
        explanation="agreement beyond chance, missing answers allowed; 1 = full agreement, 0 = as by chance",
        published="Krippendorff (2011)",
        sources=("ratings", "preferences", "choices"),
        forms=tuple(f"krippendorff_alpha_{level}" for level in get_args(Level)),
        compute=_alphas,
    ),
    Measure(
        name="Exact agreement",
        explanation="share of units to which all gave the very same answer (%)",
        published="Wilson (1927) for the interval",
        sources=("ratings", "choices"),
        compute=lambda answered: [exact_agreement(answered.data, confidence=answered.confidence)],
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
        compute=lambda answered: [
            gwet_ac1(answered.data, categories=answered.categories, confidence=answered.confidence)
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
        compute=lambda answered: every_icc(
            answered.data, confidence=answered.confidence, forms=FORMS if answered.named else OF_UNNAMED
        ),
        forms=FORMS,
        columns={"icc2": "ICC2", "icc2k": "ICC2k"},
    ),
    Measure(
        name="Kendall\u2019s W",
        explanation="how far all raters put the units that all answered in one order; 1 = one order",
        published="Kendall and Babington Smith (1939)",
        sources=("ratings",),
        compute=lambda answered: [
            kendall_w(answered.data, confidence=answered.confidence, rng=answered.rng(len(LEVELS)))
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
        compute=lambda answered: [mean_kendall_tau(answered.data)],
        applies=lambda answered: answered.named and answered.data.n_annotators <= FEW_ANNOTATORS,
        forms=("mean_kendall_tau",),
        columns={"mean_kendall_tau": "Mean tau"},
    ),
    Measure(
        name="Fleiss\u2019 kappa",
        explanation="Fleiss\u2019: alike or not, beyond what the shares of the answers give by chance",
        published="Fleiss (1971); Gwet (2014)",
        sources=("choices",),
        compute=lambda answered: [fleiss_kappa(answered.data, confidence=answered.confidence)],
        applies=lambda answered: answered.named and answered.level == "nominal",
        forms=("fleiss_kappa",),
        columns={"fleiss_kappa": "Kappa"},
    ),
    Measure(
        name="Cohen\u2019s kappa",
        explanation="of two raters: alike or not, beyond what their own habits give by chance",
        published="Cohen (1960); Fleiss, Cohen and Everitt (1969)",
        sources=("choices",),
        compute=lambda answered: [cohen_kappa(answered.data, confidence=answered.confidence)],
        applies=lambda answered: answered.named and answered.level == "nominal" and answered.data.n_annotators == 2,
        forms=("cohen_kappa",),
    ),
)
if TYPE_CHECKING:
    MeasureName = str
else:
    MeasureName = Literal[tuple(form for measure in MEASURES for form in measure.forms)]


def measure_agreement(answered: Answered) -> Iterator[Agreement]:
    """Compute every measure that applies; where nothing can agree, alpha alone, which says why."""
    if no_answer(answered.data) is not None and not answered.data.constant:
        yield krippendorff_alpha(answered.data, level=answered.level)
        return
    for measure in MEASURES:
        if answered.source in measure.sources and measure.applies(answered):
            yield from measure.compute(answered)


def markdown_table() -> str:
    """Return the measures as a table of the docs."""
    rows = (
        f"| {measure.name} | {', '.join(measure.sources)} | {measure.explanation} | {measure.published} |"
        for measure in MEASURES
    )
    return "\n".join(["| measure | of | says | source |", "|---|---|---|---|", *rows])
