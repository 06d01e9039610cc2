"""Annotators whose preferences are known: they answer any form as the page would send it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationError

from spa.errors import StudyError
from spa.files import read_toml
from spa.forms.form import (
    CheckTarget,
    ChoiceTarget,
    ConfirmAnswer,
    ConfirmationTarget,
    Form,
    NumberAnswer,
    OptionsAnswer,
    OrderAnswer,
    PreferenceTarget,
    Question,
    RankingTarget,
    RatingTarget,
    ScreeningTarget,
    SpansAnswer,
    SpanTarget,
    TextAnswer,
)
from spa.simulation.simulated_reading import ReadingHabit
from spa.simulation.simulated_spans import marked_errors, true_errors
from spa.simulation.true_utilities import Share, SimulationTable, Spread, TrueUtilities
from spa.study.assignment import BlindingKey

Seen = tuple[str, str, int]  # system, item, sample
EXPLANATION = "A simulated explanation."  # says what it is


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
        self._rng = rng if answering is None else answering
        self._taste = {
            system: temperament.taste_sd * float(rng.standard_normal()) for system in sorted(truth.utilities)
        }
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

    def answers(self, form: Form, key: BlindingKey) -> dict[str, str]:
        """Answer every question of a form; the key, which system each label hides, leads to the utilities.

        Return the text that the page would send by question id, in the order of the form.
        """
        reading = SimulatedReading(self, form, key)
        return {question.question_id: reading.answer(question) for question in form.questions("people")}


class SimulatedReading:
    """One annotator with one form: what has been read is remembered, so that answers agree with one another."""

    def __init__(self, annotator: SimulatedAnnotator, form: Form, key: BlindingKey) -> None:
        self._annotator = annotator
        self._truth = annotator.truth
        self._temperament = annotator.temperament
        self._rng = annotator._rng
        self._systems = key.systems
        self._noise: dict[tuple[Seen, str], float] = {}
        self._percent: dict[tuple[str, str, str], float] = {}
        self._seen: dict[str, dict[Seen, None]] = {}
        for label, seen in outputs_of_labels(form, key):
            self._seen.setdefault(label, {})[seen] = None

    def answer(self, question: Question) -> str:
        """Return the text that the page would send for one question."""
        answer, target = question.answer, question.target
        if isinstance(answer, ConfirmAnswer) or isinstance(target, ConfirmationTarget):
            return "yes"
        if isinstance(target, ScreeningTarget) and isinstance(answer, OptionsAnswer):
            return self._pick(answer, target.eligible, right=self._annotator.eligible)
        if isinstance(target, CheckTarget) and target.kind == "attention" and isinstance(answer, OptionsAnswer):
            return self._pick(answer, (target.expected,), right=not self._annotator.fails_checks)
        if isinstance(answer, TextAnswer):
            return EXPLANATION
        if isinstance(answer, SpansAnswer):
            if not isinstance(target, SpanTarget):
                raise TypeError("only errors of an output are marked")
            return self._spans(target, answer)
        if self._annotator.careless != "no":
            return self._careless(answer)
        match target:
            case RankingTarget():
                return self._order(target)
            case PreferenceTarget() if isinstance(answer, NumberAnswer):
                return self._preference(target, answer)
            case RatingTarget():
                return self._rating(target, answer)
            case ChoiceTarget() if isinstance(answer, OptionsAnswer):
                return self._choice(target, answer)
            case CheckTarget() if isinstance(answer, NumberAnswer):
                return target.expected
            case CheckTarget() if isinstance(answer, OptionsAnswer):
                return self._pick(answer, (target.expected,), right=True)
        raise TypeError(f"a simulated annotator cannot answer {type(target).__name__} with {type(answer).__name__}")

    def _careless(self, answer: NumberAnswer | OptionsAnswer | OrderAnswer) -> str:
        random = self._annotator.careless == "random"
        if isinstance(answer, OrderAnswer):  # as shown, or any
            labels = [option.value for option in answer.options]
            return " > ".join(self._rng.permutation(labels).tolist() if random else labels)
        if isinstance(answer, NumberAnswer):
            value = int(self._rng.integers(answer.low, answer.high + 1)) if random else (answer.low + answer.high) // 2
            return str(value)
        place = int(self._rng.integers(len(answer.options))) if random else len(answer.options) // 2
        return answer.options[place].value

    def _pick(self, answer: OptionsAnswer, accepted: tuple[str, ...], *, right: bool) -> str:
        fits = [option for option in answer.options if (option.value in accepted or option.text in accepted) == right]
        return (fits or list(answer.options))[0].value

    def _perceived(self, seen: Seen, criterion: str) -> float:
        """Return how good this annotator finds an output; the same however often it is asked."""
        if (seen, criterion) not in self._noise:
            self._noise[seen, criterion] = self._temperament.noise_sd * float(self._rng.standard_normal())
        system, item_id, sample = seen
        liking = self._annotator._taste.get(system, 0.0)
        return self._truth.utility(system, item_id, sample, criterion) + liking + self._noise[seen, criterion]

    def _chance(self, target: PreferenceTarget) -> float:
        """Return P(x preferred to y) as the annotator sees it before any habit of answering."""
        pair = (min(target.label_x, target.label_y), max(target.label_x, target.label_y))
        known = self._percent.get((*pair, target.criterion))
        if known is None:
            first, second = (list(self._seen.get(label, ())) for label in pair)
            if not first or not second:
                raise ValueError(f"the form shows no output under {pair[0]!r} or {pair[1]!r}")
            means = [
                sum(self._perceived(seen, target.criterion) for seen in outputs) / len(outputs)
                for outputs in (first, second)
            ]
            spread = math.hypot(self._truth.output_sd, self._temperament.noise_sd, self._temperament.doubt)
            if {item for _, item, _ in first} != {item for _, item, _ in second}:
                spread = math.hypot(spread, self._truth.item_sd)
            known = phi(means[0] - means[1], spread * math.sqrt(1 / len(first) + 1 / len(second)))
            self._percent[(*pair, target.criterion)] = known
        return known if target.label_x == pair[0] else 1 - known

    def _preference(self, target: PreferenceTarget, answer: NumberAnswer) -> str:
        chance = self._chance(target)
        if self._annotator.inconsistent:
            chance = min(1.0, chance + self._annotator._excess)
        else:  # taken from both directions alike: what is left over is the indifference
            chance -= self._temperament.indifference * min(chance, 1 - chance)
        percent = chance * 100
        step = self._temperament.rounding
        if step > 0:
            percent = step * round(percent / step)
        return nearest_whole(answer.low + percent / 100 * (answer.high - answer.low), answer)

    def _rating(self, target: RatingTarget, answer: NumberAnswer | OptionsAnswer | OrderAnswer) -> str:
        seen = (self._systems[target.label], target.item_id, target.sample)
        utility = self._perceived(seen, target.criterion)
        if target.criterion in self._truth.lower_is_better:
            utility = self._truth.low + self._truth.high - utility
        utility += self._annotator._severity
        if isinstance(answer, NumberAnswer):
            return nearest_whole(answer.low + self._truth.normalised(utility) * (answer.high - answer.low), answer)
        options = sorted(answer.options, key=lambda option: option.score or 0.0)  # in their own order without scores
        bounds = self._temperament.thresholds
        if bounds is not None and len(bounds) == len(options) - 1:
            place = sum(utility > bound for bound in sorted(bounds))
        else:
            place = math.ceil(round(self._truth.normalised(utility) * len(options), 9)) - 1
        return options[min(max(place, 0), len(options) - 1)].value

    def _spans(self, target: SpanTarget, answer: SpansAnswer) -> str:
        system = self._systems[target.label]
        utility = self._truth.utility(system, target.item_id, target.sample, target.criterion)
        rate = 2 * self._truth.error_rate * (1 - self._truth.normalised(utility))
        names = (str(self._truth.seed), system, target.item_id, str(target.sample), target.criterion)
        errors = true_errors(answer, rate, names)
        if self._annotator.careless == "straight":
            return "[]"
        habit = self._temperament
        recall, precision = (0.1, 0.1) if self._annotator.careless == "random" else (habit.recall, habit.precision)
        return marked_errors(answer, errors, recall=recall, precision=precision, rng=self._rng)

    def _choice(self, target: ChoiceTarget, answer: OptionsAnswer) -> str:
        x, y = (
            self._perceived((self._systems[label], target.item_id, sample), target.criterion)
            for label, sample in ((target.label_x, target.sample_x), (target.label_y, target.sample_y))
        )
        values = {option.value for option in answer.options}
        if "tie" in values and abs(x - y) < self._temperament.tie_width:
            return "tie"
        if x == y:
            return "x" if self._rng.random() < 0.5 else "y"
        return "x" if x > y else "y"

    def _order(self, target: RankingTarget) -> str:
        """Order outputs by how good they are found; what is hardly worse than the one before is tied with it."""
        found = {
            label: self._perceived((self._systems[label], target.item_id, sample), target.criterion)
            for label, sample in zip(target.labels, target.samples, strict=True)
        }
        order = sorted(found, key=lambda label: -found[label])
        signs = ["=" if found[x] - found[y] < self._temperament.tie_width else ">" for x, y in pairwise(order)]
        return " ".join([order[0], *(f"{sign} {label}" for sign, label in zip(signs, order[1:], strict=True))])


def outputs_of_labels(form: Form, key: BlindingKey) -> Iterator[tuple[str, Seen]]:
    """Yield (label, output) for every output that a form shows before or beside its comparisons.

    Pages that rate or choose may show further outputs; they count where no other page shows any.
    """
    found = [
        (page.kind in ("reading", "comparison"), exhibit)
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


def nearest_whole(value: float, answer: NumberAnswer) -> str:
    """Return the whole number of an answer that is nearest to a value.

    >>> nearest_whole(104.2, NumberAnswer(low=0, high=100, scale=100, low_text="", high_text=""))
    '100'
    """
    return str(min(max(round(value), answer.low), answer.high))


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
