"""Error spans: errors marked in one output with their severity, then a rating (ESA, Kocmi et al. 2024)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from spa.elicitation.ratings import RatingSection, RatingTarget, dealer, rating_pages, rating_question, zero_to_hundred
from spa.elicitation.view import AssignmentView
from spa.elicitation.way import WayOfAsking
from spa.media import medium_of
from spa.records.assignment import AssignmentLabels, ShownOutput
from spa.records.clean_text import printable
from spa.records.form import OUTPUT, SHOWN, Answer, AnswerOption, Column, Judgement, Question, SimulatedReader
from spa.records.problems import StudyProblem, mistake, repeated
from spa.records.study import OVERALL, Deciding, Study
from spa.records.toml_table import Ident, Text, added
from spa.widgets import NO_ERRORS, MarkedSpan, SpansAnswer, spans_from_json

MQM_WEIGHTS = tuple(5.0**place for place in range(9))  # minor 1, major 5 (Freitag et al. 2021, table 4)
WORD = re.compile(r"\w+")
Error = tuple[int, int, str]  # start, end, severity
SCORED = "continuous"  # as which ratings the score after the marks counts


class Spans(RatingSection):
    """Errors marked in one output with their severity, then a rating from 0 to 100 (ESA, Kocmi et al. 2024)."""

    key: ClassVar[str] = "spans"
    of_turns: ClassVar[bool] = False
    way: ClassVar[str] = "spans"
    unread: ClassVar[str | None] = "marks have no probabilities"

    criteria: tuple[Ident, ...] | None = None  # None: one question about all errors
    severities: Annotated[tuple[Text, ...], Field(min_length=1, max_length=9)] = ("minor", "major")  # lightest first
    meanings: tuple[Text, ...] | None = added(None)  # of the severities, beside the question; None: the locale's
    weights: tuple[Annotated[float, Field(ge=0)], ...] | None = None  # of the severities; None: 1, 5, 25, ... as in MQM
    categories: Annotated[tuple[Text, ...], Field(max_length=30)] = ()  # kinds of errors, each of which may be named
    score: bool = True  # whether a rating from 0 to 100 follows
    low: Text | None = None  # words at its ends; the locale's where absent
    high: Text | None = None

    def asks(self, study: Study) -> tuple[str, ...]:
        """Return the criteria whose errors are marked; "overall" stands for all errors."""
        return self.criteria or (OVERALL,)

    def answers(self) -> tuple[str, ...]:
        """Return that marks are asked for, and ratings from 0 to 100 where they are scored."""
        return (self.way, SCORED) if self.score else (self.way,)

    def words(self) -> tuple[str, ...]:
        """Return what marks are called, and the words at the ends of the rating after them."""
        return (*self.severities, *(self.meanings or ()), *self.categories, self.low or "", self.high or "")

    def has_ends(self) -> bool:
        """Return whether a rating follows."""
        return self.score

    def questions(self, view: AssignmentView, output: ShownOutput, criterion: str) -> list[Question]:
        """Return the question that has errors of an output marked, and the rating from 0 to 100 that follows.

        The text is marked as it is shown; ``criterion`` says which errors ("overall": all).
        """
        errors = SpanTarget(label=output.label, item_id=output.item_id, sample=output.sample, criterion=criterion)
        weights = zip(self.severities, self.weights or MQM_WEIGHTS, strict=False)
        exhibit = view.output(output)
        text = medium_of(exhibit).reads(exhibit.text)
        answer = SpansAnswer(
            text=text,
            source=exhibit.text if text != exhibit.text else None,
            severities=tuple(AnswerOption(value=each, text=each, score=weight) for each, weight in weights),
            categories=self.categories,
            no_errors=view.say("spans_none"),
            meanings=view.text_cache.cached("severities", lambda: self._severities_explained(view)),
        )
        asked = [Question(text=view.ask(self.key, criterion), answer=answer, target=errors)]
        if self.score:
            scale = zero_to_hundred(view, criterion, self.low, self.high)
            scored = rating_question(view, None if view.text_cache.single_outputs else output.label, criterion)
            target = RatingTarget(**asdict(errors), elicitation=SCORED)
            asked.append(Question(text=scored, answer=scale, target=target))
        return asked

    def _severities_explained(self, view: AssignmentView) -> tuple[str, ...]:
        """Return what each severity means, by its name; none where neither the study nor the locale says it of all."""
        preset = [f"spans_{one}" for one in self.severities]
        if self.meanings is not None:
            meanings: tuple[str, ...] = self.meanings
        elif all(view.text_cache.texts.has(f"form.{name}", "form.spans_severity") for name in preset):
            meanings = tuple(map(view.say, preset))
        else:
            return ()
        pairs = zip(self.severities, meanings, strict=True)
        return tuple(view.say("spans_severity", severity=severity, meaning=meaning) for severity, meaning in pairs)

    def decides(self) -> Deciding | None:
        """Return that the rating after the marks can end a live study; counts have no upper end."""
        return "ratings" if self.score else None


def problems(study: Study, section: Spans) -> Iterator[StudyProblem]:
    """Yield what the section means wrongly beside the others."""
    yield from repeated("[spans] severities", section.severities)
    yield from repeated("[spans] categories", section.categories)
    for key, given in (("weights", section.weights), ("meanings", section.meanings)):
        if given is not None and len(given) != len(section.severities):
            got = f"{len(given)} for {len(section.severities)}"
            yield mistake(f"[spans] {key}", "one for each severity", got, "add or remove some")
    if not (medium := medium_of(study.outputs.kind)).is_text:
        yield mistake("[spans]", "text outputs, to mark words in", medium.many, "remove it", "outputs")
    for criterion in study.criteria:
        if criterion.mark_differences and criterion.id in section.asks(study):
            expected = "false for a criterion of [spans], whose marks are the annotator's"
            yield mistake(f"[[criteria]] {criterion.id}, mark_differences", expected, "true", "remove it", "spans")


def overview(study: Study, section: Spans) -> str:
    """Return what `spa check` says of it."""
    return ", ".join(section.severities)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanTarget(Judgement):
    """The errors of one output."""

    kind: ClassVar[str] = "spans"
    table: ClassVar[str] = "spans"
    columns: ClassVar[Mapping[str, Column]] = {
        **OUTPUT,
        "start": "Int64",  # code points of the output's text, half-open
        "end": "Int64",
        "text": "String",
        "severity": "String",
        "weight": "Float64",
        "category": "String",
        "reason": "String",  # why an error has no place; "no errors" where none was marked
        "characters": "Int64",  # of the output's text
        **SHOWN,
    }
    about: ClassVar[str] = "marked errors, one row an error, or one where an output has none"
    careless_itself: ClassVar[bool] = True

    label: str
    item_id: str
    sample: int

    @property
    def way(self) -> str:
        """What tables of answers call it."""
        return Spans.way

    def outputs(self) -> frozenset[tuple[str, str, int]] | None:
        """Return the output whose errors are marked."""
        return frozenset(((self.label, self.item_id, self.sample),))

    def rows(self, value: float | str | None, labels: AssignmentLabels) -> list[tuple[object, ...]]:
        """Return a row an error; one row where none was marked, or nothing was answered."""
        output = self.item_id, labels.systems[self.label], self.criterion
        shown = self.way, self.sample, self.label, labels.positions.get(self.label)
        if not isinstance(value, str):
            return [(*output, *(None,) * 8, *shown)]
        marked = spans_from_json(value)
        if not marked.spans:
            return [(*output, *(None,) * 6, NO_ERRORS, marked.characters, *shown)]
        return [(*output, *_cells(span), marked.characters, *shown) for span in marked.spans]

    def simulated(self, reader: SimulatedReader, answer: Answer) -> str:
        """Return marks at some of the true errors and at some other words."""
        if not isinstance(answer, SpansAnswer):
            raise TypeError("errors are marked in a text")
        system, truth, habit = reader.system(self.label), reader.truth, reader.temperament
        utility = truth.utility(system, self.item_id, self.sample, self.criterion)
        rate = 2 * truth.error_rate * (1 - truth.normalised(utility))
        names = (str(truth.seed), system, self.item_id, str(self.sample), self.criterion)
        errors = true_errors(answer, rate, names)
        if reader.careless == "straight":
            return "[]"
        recall, precision = (0.1, 0.1) if reader.careless == "random" else (habit.recall, habit.precision)
        return marked_errors(answer, errors, recall=recall, precision=precision, rng=reader.rng)


def _cells(span: MarkedSpan) -> tuple[object, ...]:
    reason, text = printable(span.reason), printable(span.text)
    return span.start, span.end, text, span.severity, span.weight, span.category, reason


def words_of(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text stand.

    >>> words_of("a big dog")
    [(0, 1), (2, 5), (6, 9)]
    """
    return [match.span() for match in WORD.finditer(text)]


def true_errors(answer: SpansAnswer, rate: float, names: Sequence[str]) -> list[Error]:
    """Return the words of an output that are errors, with their severity: the same whoever reads it.

    ``rate`` is the share of words in error, cut to [0, 1]; ``names`` are system, item, sample and criterion, whose
    hash chooses the words.
    """
    seed = sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).digest()
    rng = np.random.default_rng(int.from_bytes(seed[:8], "big"))
    words = words_of(answer.text)
    wrong, level = rng.random(len(words)) < rate, rng.integers(0, len(answer.severities), len(words))
    return [
        (start, end, answer.severities[place].value)
        for (start, end), is_wrong, place in zip(words, wrong, level, strict=True)
        if is_wrong
    ]


def marked_errors(
    answer: SpansAnswer, errors: Sequence[Error], *, recall: float, precision: float, rng: np.random.Generator
) -> str:
    """Return what an annotator marks, as the page sends it.

    Each true error is marked with probability ``recall``, and as many other words that ``precision`` is the expected
    share of true errors among the marks.
    """
    found = [error for error in errors if rng.random() < recall]
    true = {error[:2] for error in errors}
    others = [word for word in words_of(answer.text) if word not in true]
    false = min(len(others), int(rng.poisson(recall * len(errors) * (1 - precision) / precision)))
    wrong = [others[place] for place in rng.permutation(len(others))[:false]]
    lightest = answer.severities[0].value
    marks = sorted([*found, *((start, end, lightest) for start, end in wrong)])
    return json.dumps([{"start": start, "end": end, "severity": severity} for start, end, severity in marks])


WAY = WayOfAsking(
    settings=Spans,
    name="Error spans",
    described="Error spans: the errors of each output are marked, each with its severity.",
    in_methods="marked the errors of single outputs, each with a severity",
    problems=problems,
    overview=overview,
    dealer=dealer,
    assigned_as="rated",
    pages=rating_pages,
    judgements=(SpanTarget, RatingTarget),
    decides_with="with a score",
    heds_form=6,
    heds_seen_as=4,
    late_texts=(
        *("instructions_spans", "spans_overall", "spans_criterion", "spans_none"),
        *("spans_severity", "spans_minor", "spans_major"),
    ),
)
