"""Annotators whose preferences are known: they answer any form as the page would send it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationError

from spa.errors import StudyError
from spa.files import read_toml
from spa.media import least_seconds_of, length_of, medium_of, seconds_of, words_of
from spa.records.assignment import BlindingKey
from spa.records.form import Answer, CheckTarget, Exhibit, Form, Judgement, Page, Question, ScreeningTarget
from spa.responses.reading_evidence import OutputExposure, PageExposure, Parts, minimum_seconds, write_exposure
from spa.simulation.true_utilities import Camp, Share, SimulationTable, Spread, TrueUtilities
from spa.widgets import widget_of

RACING_WORDS_PER_MINUTE = 1500.0  # nobody reads so fast
NOISE = 0.3  # standard deviation of the log pace from one output to the next
SKIPPED = 0.5  # share of the outputs that whoever skips outputs leaves at their first lines
QUESTION_SECONDS = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingHabit:
    """How one annotator reads."""

    words_per_minute: float
    skips: bool
    races: bool
    rng: np.random.Generator

    def evidence(self, form: Form, seconds_per_100_words: float, share_played: float = 1.0) -> dict[str, str]:
        """Return what the script sends with each page, by page id.

        Outputs of one row stand side by side and are on screen together, for as long as all of them are read
        and at least until the page may be left. What earlier pages showed is not looked at again.
        """
        least = {page.page_id: minimum_seconds(page, seconds_per_100_words, share_played) for page in form.pages}
        return {page.page_id: self._page(page, least[page.page_id]) for page in form.pages}

    def _page(self, page: Page, least: Mapping[str, float]) -> str:
        seconds = 0.0
        outputs: dict[str, OutputExposure] = {}
        played: dict[str, Parts] = {}
        for row in _rows(page):
            skipped = [self.skips and self.rng.random() < SKIPPED for _ in row]
            paces = [0.0 if skip else self._seconds(one) for one, skip in zip(row, skipped, strict=True)]
            passed = round(max(sum(paces), sum(least.get(one.exhibit_id, 0.0) for one in row)), 2)
            for one, skip in zip(row, skipped, strict=True):
                if passed:
                    outputs[one.exhibit_id] = OutputExposure(
                        first_seen=round(seconds, 2), seconds=passed, scrolled=0.3 if skip else 1.0
                    )
                if (length := length_of(one)) is not None:  # whoever skips plays no more than what is asked for
                    played[one.exhibit_id] = ((0.0, least.get(one.exhibit_id, 0.0) if skip else length),)
            seconds += passed
        seconds += QUESTION_SECONDS * len(page.questions)
        return write_exposure(PageExposure(seconds=round(seconds, 2), outputs=outputs, played=played))

    def _seconds(self, exhibit: Exhibit) -> float:
        noise = float(np.exp(NOISE * self.rng.standard_normal()))
        if (words := words_of(exhibit)) is None:
            files = medium_of(exhibit).files
            longer = 1.0 if files is not None and files.streamed else 5.0  # what lasts is heard once
            return least_seconds_of(exhibit, 0.0) * (1 if self.races else longer * noise)
        speed = RACING_WORDS_PER_MINUTE if self.races else self.words_per_minute
        looked_at = 0.0 if self.races else seconds_of(exhibit)
        return (words * 60 / speed + looked_at) * noise


def _rows(page: Page) -> Iterator[tuple[Exhibit, ...]]:
    """Yield the outputs new on a page row by row, each output once."""
    new, done = {one.exhibit_id for one in page.new_measured}, set[str]()
    for block in page.exhibits:
        row = tuple(one for one in block.exhibits if one.exhibit_id in new - done)
        done |= {one.exhibit_id for one in row}
        if row:
            yield row


Seen = tuple[str, str, int]  # system, item, sample


class Temperament(SimulationTable):
    """How a population of annotators turns what it reads into answers.

    Standard deviations are in the units of utility; shares are of annotators.
    """

    noise_sd: Spread = 0.3  # one annotator's reading of one output
    taste_sd: Spread = 0.15  # how far annotators differ in their liking of a system
    doubt: Spread = 1.2  # sd that annotators allow for outputs they have not seen; keeps percentages off 0 and 100
    severity_sd: Spread = 0.4  # how far annotators differ in their use of a rating scale
    thresholds: tuple[float, ...] | None = None  # inner bounds of a rating scale in utility; None: equal, by ceiling
    indifference: Share = 0.05  # how far p and its reverse fall short of 1 where both are half
    tie_width: Spread = 0.2  # outputs closer than this are called equal
    carelessness: Share = 0.0  # answer at random, or everything alike
    inconsistency: Share = 0.0  # p and its reverse add up to more than 1.1
    not_eligible: Share = 0.0  # give an answer to a screening question that is not eligible
    failing_checks: Share = 0.0  # get attention checks wrong
    skipping_outputs: Share = 0.0  # see no more than the first lines of every second output
    racing: Share = 0.0  # let outputs pass at 1,500 words a minute
    recall: Share = 0.8  # share of the true errors of an output that are marked
    precision: Annotated[float, Field(gt=0, le=1)] = 0.8  # share of the marks that are true errors
    straight_lining: Share = 0.0  # answer everything alike
    words_per_minute: Annotated[float, Field(gt=0)] = 240.0  # median speed of reading
    words_per_minute_sd: Spread = 0.25  # of its logarithm, between annotators
    rounding: float = 5.0  # percent are multiples of this


PERFECT = Temperament(
    noise_sd=0, taste_sd=0, doubt=0.5, severity_sd=0, indifference=0, tie_width=1e-9, rounding=1
)  # reads without noise and rounds up: the best case of Remark 2 of Ethayarajh and Jurafsky (2022)
ATTENTIVE = Temperament(
    noise_sd=0.03, taste_sd=0, doubt=1, severity_sd=0.02
)  # people as good as one can hope for; precise enough for likert_reversal_truth
CROWD = Temperament(
    carelessness=0.04, inconsistency=0.06, not_eligible=0.04, failing_checks=0.04
)  # as in an open call, with some to exclude


class SimulatedAnnotator:
    """One annotator of known truth, drawn from the population of a ``temperament``.

    The annotator sees only what the form shows: a preference is estimated from the outputs under the two labels, so
    more exposure makes it surer. ``rng`` draws who the annotator is, and then the noise of each answer, unless
    ``answering`` draws that: another one each time that the same annotator comes again.
    """

    def __init__(
        self,
        truth: TrueUtilities,
        temperament: Temperament | None = None,
        *,
        rng: np.random.Generator,
        answering: np.random.Generator | None = None,
    ) -> None:
        temperament = Temperament() if temperament is None else temperament
        self.truth = truth
        self.temperament = temperament
        self.rng = rng if answering is None else answering
        self._taste = {
            system: temperament.taste_sd * float(rng.standard_normal()) for system in sorted(truth.utilities)
        }
        self.camp = _camp_of(truth.camps, rng)
        if self.camp is not None:
            for system, liking in self.camp.liking.items():
                self._taste[system] = self._taste.get(system, 0.0) + liking
        self._severity = temperament.severity_sd * float(rng.standard_normal())
        # One draw a trait, whatever the shares are: changing one share leaves the other traits as they were.
        careless, inconsistent, not_eligible, failing, manner = (float(value) for value in rng.random(5))
        self.careless: Literal["no", "random", "straight"] = (
            "no" if careless >= temperament.carelessness else "random" if manner < 0.5 else "straight"
        )
        self.inconsistent = inconsistent < temperament.inconsistency
        self.eligible = not_eligible >= temperament.not_eligible
        self.fails_checks = failing < temperament.failing_checks
        self._excess = 0.15 + 0.1 * manner
        reading = rng.spawn(1)[0]  # draws of its own, so that answers do not depend on how outputs are read
        skips, races, straight = (float(value) for value in reading.random(3))
        if self.careless == "no" and straight < temperament.straight_lining:
            self.careless = "straight"
        self.habit = ReadingHabit(
            words_per_minute=temperament.words_per_minute
            * math.exp(temperament.words_per_minute_sd * float(reading.standard_normal())),
            skips=skips < temperament.skipping_outputs,
            races=races < temperament.racing,
            rng=reading if answering is None else answering.spawn(1)[0],
        )

    def says(self, screening_id: str) -> str | None:
        """Return what the annotator's camp answers to a screening question; ``None`` where any eligible answer does."""
        return None if self.camp is None else self.camp.answers.get(screening_id)

    def answers(self, form: Form, key: BlindingKey) -> dict[str, str]:
        """Answer every question of a form; the key, which system each label hides, leads to the utilities.

        Return the text that the page would send by question id, in the order of the form.
        """
        reading = SimulatedReading(self, form, key)
        return {question.question_id: reading.answer(question) for question in form.questions("people")}


def _camp_of(camps: Sequence[Camp], rng: np.random.Generator) -> Camp | None:
    """Draw whom an annotator sides with; where there are no camps nothing is drawn."""
    if not camps:
        return None
    shares = np.cumsum([camp.share for camp in camps])
    return camps[min(int(np.searchsorted(shares, rng.random(), side="right")), len(camps) - 1)]


class SimulatedReading:
    """One annotator with one form: what has been read is remembered, so that answers agree with one another."""

    def __init__(self, annotator: SimulatedAnnotator, form: Form, key: BlindingKey) -> None:
        self._annotator = annotator
        self.truth = annotator.truth
        self.temperament = annotator.temperament
        self.rng = annotator.rng
        self.careless = annotator.careless
        self.excess = annotator._excess if annotator.inconsistent else None
        self.severity = annotator._severity
        self._systems = key.systems
        self._noise: dict[tuple[Seen, str, int | None], float] = {}
        self._percent: dict[tuple[str, str, str], float] = {}
        self._seen: dict[str, dict[Seen, None]] = {}
        for label, seen in outputs_of_labels(form, key):
            self._seen.setdefault(label, {})[seen] = None

    def answer(self, question: Question) -> str:
        """Return the text that the page would send for one question."""
        answer, target = question.answer, question.target
        widget = widget_of(answer)
        match target:
            case ScreeningTarget() if (said := self._annotator.says(target.screening_id)) is not None:
                return self._pick(answer, (said,), right=True)
            case ScreeningTarget():
                return self._pick(answer, target.eligible, right=self._annotator.eligible)
            case CheckTarget(kind="attention"):
                return self._pick(answer, target.accepted, right=not self._annotator.fails_checks)
        if self.careless != "no" and not (isinstance(target, Judgement) and target.careless_itself):
            return widget.careless(answer, self.rng if self.careless == "random" else None)
        match target:
            case Judgement():
                return target.simulated(self, answer)
            case CheckTarget():
                return self._pick(answer, (target.expected,), right=True)
        return widget.careless(answer, None)

    def _pick(self, answer: Answer, accepted: tuple[str, ...], *, right: bool) -> str:
        """Return an option that is accepted (``right``) or one that is not; without options, what is accepted."""
        values = [(one.value, one.text) for one in widget_of(answer).offers(answer) if one.value is not None]
        fits = [value for value, text in values if (value in accepted or text in accepted) == right]
        return (fits or [value for value, _ in values] or list(accepted))[0]

    def system(self, label: str) -> str:
        """Return the system that a label hides."""
        return self._systems[label]

    def perceived(self, label: str, item_id: str, sample: int, criterion: str, turn: int | None = None) -> float:
        """Return how good this annotator finds an output, or a turn of it; the same however often it is asked."""
        return self._perceived((self._systems[label], item_id, sample), criterion, turn)

    def _perceived(self, seen: Seen, criterion: str, turn: int | None = None) -> float:
        asked = seen, criterion, turn
        if asked not in self._noise:
            self._noise[asked] = self.temperament.noise_sd * float(self.rng.standard_normal())
        system, item_id, sample = seen
        liking = self._annotator._taste.get(system, 0.0)
        utility = self.truth.utility(system, item_id, sample, criterion) + liking
        if turn is not None:
            utility += self.truth.turn_effect(system, item_id, sample, turn)
        return utility + self._noise[asked]

    def chance(self, label_x: str, label_y: str, criterion: str) -> float:
        """Return P(x preferred to y) as the annotator sees it before any habit of answering."""
        pair = (min(label_x, label_y), max(label_x, label_y))
        known = self._percent.get((*pair, criterion))
        if known is None:
            first, second = (list(self._seen.get(label, ())) for label in pair)
            if not first or not second:
                raise ValueError(f"the form shows no output under {pair[0]!r} or {pair[1]!r}")
            means = [
                sum(self._perceived(seen, criterion) for seen in outputs) / len(outputs) for outputs in (first, second)
            ]
            spread = math.hypot(self.truth.output_sd, self.temperament.noise_sd, self.temperament.doubt)
            if {item for _, item, _ in first} != {item for _, item, _ in second}:
                spread = math.hypot(spread, self.truth.item_sd)
            known = phi(means[0] - means[1], spread * math.sqrt(1 / len(first) + 1 / len(second)))
            self._percent[(*pair, criterion)] = known
        return known if label_x == pair[0] else 1 - known


def outputs_of_labels(form: Form, key: BlindingKey) -> Iterator[tuple[str, Seen]]:
    """Yield (label, output) for every output that a form shows before or beside its comparisons.

    Pages that rate or choose may show further outputs; they count where no other page shows any.
    """
    found = [
        (page.shows == "systems", exhibit)
        for page in form.pages
        for exhibit in page.outputs
        if exhibit.label in key.systems
    ]
    only_read = any(read for read, _ in found)
    for read, exhibit in found:
        if exhibit.label is not None and (read or not only_read):
            yield exhibit.label, (key.systems[exhibit.label], exhibit.item_id, exhibit.sample)


def phi(difference: float, standard_error: float) -> float:
    """Return the probability that a normal difference is above zero.

    >>> round(phi(1.0, 1.0), 4), phi(0.0, 0.0), phi(-1.0, 0.0)
    (0.8413, 0.5, 0.0)
    """
    if standard_error == 0:
        return 0.5 if difference == 0 else float(difference > 0)
    return 0.5 * (1 + math.erf(difference / standard_error / math.sqrt(2)))


class TruthFile(TrueUtilities):
    """The keys of the file: those of :class:`TrueUtilities`, and a table ``[temperament]``."""

    temperament: Temperament | None = None


def load_truth(path: Path) -> TruthFile:
    """Read a truth file.

    Raise StudyError with one line a mistake.
    """
    raw = read_toml(path)
    try:
        return TruthFile.model_validate(raw)
    except ValidationError as error:
        problems = [
            f"{path}: {'.'.join(map(str, problem['loc'])) or 'truth'}: {problem['msg']}, got {problem['input']!r:.80}"
            for problem in error.errors(include_url=False)
        ]
        raise StudyError(*problems) from error
