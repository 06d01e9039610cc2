"""What a study asks by default: the form that suits its systems, items and texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

from spa.forms.effort import SECONDS_A_PAGE, SECONDS_A_QUESTION
from spa.media import medium_of, minutes_to_read, seconds_of
from spa.media.medium import Medium
from spa.media.words import WORDS_PER_MINUTE
from spa.records.materials import Material
from spa.starting.settling import Settled

MINUTES, MOST_MINUTES = 10.0, 15.0  # that a form should take, and may take
MOST_EXPOSURE, ADVISED, LEAST_EXPOSURE = 5, 4, 3  # outputs of each system read; the SPA paper advises four or more
ALL_PAIRS, MOST_IN_CHAIN = 5, 8  # systems up to which all pairs are compared, or neighbours
MOST_DEALT, MOST_SINGLE = 12, 20  # pairs, or single outputs, an annotator
ANNOTATORS, ENOUGH_CHOICES = 30, 20  # planned; choices between two systems, below which fewer pairs are compared
HOURLY = 12.0  # USD
AROUND, QUESTION = 1.0, 15  # minutes for instructions and the last page; words of a question
LEAST_LETTERS, BEGINNING = 200, 400
NAMES = {"zh": "Chinese", "ar": "Arabic"}
SCRIPTS = {"zh": ("\u4e00", "\u9fff"), "ar": ("\u0600", "\u06ff")}
KANA, NOT_ARABIC = ("\u3040", "\u30ff"), frozenset("پچژگٹڈڑںے")

Way = Literal["spa", "choices", "likert"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedForm:
    """A form: how it asks, of how much, and why.

    ``number`` counts outputs of each system read (SPA), pairs or single outputs an annotator.
    """

    way: Way
    number: int
    chain: bool
    language: str
    reasons: tuple[str, ...]


def proposed(study: Settled) -> ProposedForm:
    """Return the form that takes about ten minutes.

    SPA where every system has enough items and texts are short enough to read some of each system; above five systems
    neighbours only, or dealt choices; choices where items are few or texts long; ratings where systems leave items out.
    """
    language, said = language_of(study)
    texts = _Texts(study)
    systems, items = len(study.systems), len(study.items)
    if study.single:
        outputs = len(study.answers)
        number = max(1, min(MOST_SINGLE, outputs, int(MINUTES / (texts.output + texts.prompt + _seconds(1, 1)))))
        reason = f"ratings of single outputs, {number} an annotator, as systems leave items out"
        return ProposedForm(way="likert", number=number, chain=False, language=language, reasons=(reason, *said))
    chain = systems > ALL_PAIRS
    neighbours = f"neighbours in the order of the systems are compared ({systems - 1} pairs), not all pairs"
    pairs = systems - 1 if chain else systems * (systems - 1) // 2
    exposure = next(
        (m for m in range(MOST_EXPOSURE, LEAST_EXPOSURE - 1, -1) if texts.spa(m, systems, pairs) <= MINUTES),
        LEAST_EXPOSURE,
    )
    if exposure < ADVISED and texts.spa(ADVISED, systems, pairs) <= MOST_MINUTES:
        exposure = ADVISED
    exposure = max(LEAST_EXPOSURE, min(exposure, items))
    fits = texts.spa(exposure, systems, pairs) <= MOST_MINUTES
    if items >= exposure and fits and not (chain and systems > MOST_IN_CHAIN):
        medium = medium_of(study.kind)
        reasons = [f"{exposure} {medium.many} of each system are {medium.read}, then compared as systems"]
        if chain:
            reasons.append(neighbours)
        return ProposedForm(way="spa", number=exposure, chain=chain, language=language, reasons=(*reasons, *said))
    number = max(1, min(MOST_DEALT, items, int(MINUTES / (2 * texts.output + texts.prompt + _seconds(1, 1)))))
    chain = systems * (systems - 1) // 2 * ENOUGH_CHOICES > ANNOTATORS * number
    why = "too few items" if items < exposure else "texts too long" if not fits else f"{systems} systems, too many"
    reason = f"choices between two outputs of an item, {number} an annotator: {why} to read some of every system"
    reasons = [reason, *([neighbours] if chain else [])]
    return ProposedForm(way="choices", number=number, chain=chain, language=language, reasons=(*reasons, *said))


def _seconds(questions: int, pages: int) -> float:
    """Return minutes for questions and pages."""
    return (questions * SECONDS_A_QUESTION + pages * SECONDS_A_PAGE) / 60 + questions * QUESTION / WORDS_PER_MINUTE


class _Texts:
    """How many minutes an output and a prompt take on average."""

    def __init__(self, study: Settled) -> None:
        prompts = {answer.item: answer.prompt or "" for answer in study.answers}
        self.prompt = self._minutes(study.item_kind, prompts.values())
        self.output = self._minutes(study.kind, [answer.output for answer in study.answers])

    def _minutes(self, kind: str, shown: Iterable[str]) -> float:
        """Return how long one of those shown takes on average."""
        made = [_material(one, medium_of(kind)) for one in shown]
        return fmean(map(minutes_to_read, made)) + fmean(map(seconds_of, made)) / 60

    def spa(self, exposure: int, systems: int, pairs: int) -> float:
        """Return how long it takes to read ``exposure`` outputs of each system, and to compare pairs."""
        return exposure * (systems * self.output + self.prompt) + _seconds(2 * pairs, exposure + pairs) + AROUND


def _material(cell: str, medium: Medium) -> Material:
    if medium.files is not None:
        return Material(medium=medium.key, text=None, file=Path(cell))
    try:
        return Material(medium=medium.key, text=medium.takes(cell))
    except ValueError:  # which the study will say
        return Material(medium=medium.key, text="")


def language_of(study: Settled) -> tuple[str, tuple[str, ...]]:
    """Return the language of the form by the letters of the outputs, and what is to be said of it."""
    answers = study.answers[:LEAST_LETTERS]
    prompts = [answer.prompt or "" if medium_of(study.item_kind).has_words else "" for answer in answers]
    outputs = [answer.output if medium_of(study.kind).has_words else "" for answer in answers]
    beginnings = [f"{prompt} {output}"[:BEGINNING] for prompt, output in zip(prompts, outputs, strict=True)]
    letters = [letter for text in beginnings for letter in text if letter.isalpha()]
    kana = sum(KANA[0] <= letter <= KANA[1] for letter in letters)
    for language, (first, last) in SCRIPTS.items():
        theirs = sum(first <= letter <= last for letter in letters)
        other = kana > 0.02 * len(letters) if language == "zh" else bool(NOT_ARABIC.intersection(letters))
        if 2 * theirs > len(letters) and not other:
            return language, (f"in {NAMES[language]}, by the script of most texts",)
    latin = sum(letter.isascii() or "\u00aa" <= letter <= "\u024f" for letter in letters)
    if letters and 2 * latin < len(letters):
        return "en", ("in English, though most texts are in another script: translate it in [texts]",)
    return "en", ("in English",)


def pay_of(minutes: float) -> str:
    """Return what a form of so many minutes is paid, at 12 USD an hour.

    >>> pay_of(10), pay_of(7.3)
    ('2.00', '1.50')
    """
    return f"{max(0.1, -(-minutes * HOURLY / 60 // 0.1) * 0.1):.2f}"
