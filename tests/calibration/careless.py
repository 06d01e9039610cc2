"""Whom the rules of careless answering find; ``python -m tests.calibration.careless --out FILE`` writes the table.

Every annotator answers a form of the example ``demo`` with known habits, and the rules of a plan judge the answers
and the evidence of reading.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from analysis import Plan, Reading, check_frames
from analysis.answers.careless import reading_speeds
from analysis.answers.careless_signs import SIGNS, careless_signs
from analysis.answers.exclusions import find_exclusions
from analysis.answers.tables import AnswerTables
from spa.commands.init import write_example
from spa.elicitation.ratings import RatingTarget
from spa.elicitation.spa import PreferenceTarget
from spa.forms.build import build_form
from spa.forms.texts import load_texts
from spa.records.assignment import BlindingKey
from spa.records.form import CheckTarget, Form
from spa.responses.reading_evidence import parse_exposure
from spa.responses.reading_rows import KnownExposure, exposure_rows
from spa.responses.tidy_tables import READING
from spa.simulation.simulated_annotators import SimulatedAnnotator, Temperament
from spa.simulation.true_utilities import even_truth
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from tests.calibration.careless_languages import language_rows

PLAN = Plan(min_outputs_seen=0.9, max_words_per_minute=600, max_same_answers=0.95)
RULES = ("outputs_seen", "reading_speed", "same_answers", "attention_checks")
PAUSE = 600.0  # seconds, on one page
FEW = 5  # outputs: the fewest that a speed is judged by
COLUMNS = tuple(name for name in READING if name not in ("annotator_kind", "page_kind", "session", "visit"))
FAST = Temperament(words_per_minute=350, words_per_minute_sd=0.1)  # two in three read at 317 to 387
HEAD = """# Careless answering

Whom the [rules of `[analysis]`](../../docs/study-file.md#analysis) find (`make calibrate`, {number} annotators a row,
seed {seed}): `min_outputs_seen = 0.9`, `max_words_per_minute = 600`, `max_same_answers = 0.95`, one attention check.
Forms are those of the example `demo`: 32 outputs of about {words:.0f} words, each on a page of its own or (side by
side) four a page, on screen together. Fast readers are log-normal, two in three at 317 to 387 words a minute; from
one output to the next the pace varies by a factor of 1.35 (one SD). Whoever races reads 1,500 words a minute and waits
until the page may be left; a pause is ten minutes on one page. On the easy scale outputs of middling quality get the
highest rating. "By total" and "each alone" are the speed rule with other measures: all words by all time, and the
median of each output's words by its own time on screen.

| annotators | outputs seen | reading speed | same answers | attention checks | by total | each alone |
| --- | --- | --- | --- | --- | --- | --- |
"""
SIGNS_HEAD = """
## Signs

Whom the signs find that are looked for by default, in the same forms with their twelve stated preferences: over 2.6
times the usual speed, over 95% of 10 answers of a kind alike unless half of what others gave who varied theirs is
that answer, over 90% of 3 pairs or more alike in both directions above 110%, a failed attention check. Simulated
annotators take no time on the server's clock. A straight-liner shows no pair alike where the answer is 50% or less.
Whoever answers at random or alike does the one or the other by even chance.

| annotators | reading speed | same answers | both directions | attention checks |
| --- | --- | --- | --- | --- |
"""
LANGUAGES_HEAD = """
## Languages

The sign of reading speed for one message in seven ways of writing, which takes a reader as long in each: counted in
texts a minute, the speeds of 17 languages differ by 0.13 of 1.42 (one SD; Trauzettel-Klosinski and Dietz 2012), and
the readers of all but English are faster by that SD. Honest readers have a median of 238 English words a minute, nine
in ten 181 to 312 (Brysbaert 2019: most adults, 175 to 300); fast ones 350, as above; racing ones 1,500. "Usual" is
the time, in seconds, that the words take by the speed of their script. Each reads 32 outputs, alone on a page or four
beside each other; by the server's clock alone nobody takes any time to answer, which makes everybody as fast as can
be.

| text | words | usual | honest | beside | by clock | fast | beside | by clock | race | beside | by clock |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """A kind of annotator, and how the outputs stand."""

    name: str
    temperament: Temperament
    side_by_side: bool = False
    pause: bool = False
    few: bool = False


def habits() -> Iterator[Habit]:
    """Yield honest annotators, and one careless trait at a time."""
    yield Habit(name="honest", temperament=Temperament())
    yield Habit(name="honest, fast", temperament=FAST)
    yield Habit(name="honest, fast, side by side", temperament=FAST, side_by_side=True)
    yield Habit(name=f"honest, fast, {FEW} outputs", temperament=FAST, few=True)
    yield Habit(name="honest, a pause", temperament=Temperament(), pause=True)
    easy = Temperament(thresholds=(-2.5, -2.0, -1.5, -1.0))
    yield Habit(name="honest, easy scale", temperament=easy)
    yield Habit(name="skip outputs", temperament=Temperament(skipping_outputs=1))
    yield Habit(name="race", temperament=Temperament(racing=1))
    yield Habit(name="race, side by side", temperament=Temperament(racing=1), side_by_side=True)
    yield Habit(name="race, a pause", temperament=Temperament(racing=1), pause=True)
    yield Habit(name="straight-line", temperament=Temperament(straight_lining=1))
    yield Habit(name="answer at random or alike", temperament=Temperament(carelessness=1))
    yield Habit(name="fail checks", temperament=Temperament(failing_checks=1))


def forms_of_stories(*, side_by_side: bool, count: int = 12) -> list[tuple[Form, BlindingKey]]:
    """Build forms of the example."""
    with tempfile.TemporaryDirectory() as folder:
        write_example(Path(folder), "demo")
        study = load_study(Path(folder) / "study.toml")
        spa = study.sections["spa"].model_copy(update={"same_items": side_by_side})
        study = study.model_copy(update={"sections": {**study.sections, "spa": spa}})
        outputs, texts = load_outputs(study), load_texts(study.language, study.texts)
    draws = sample_assignments(study, outputs, count=count, rng=study_rng(study.seed))
    return [(build_form(study, outputs, assignment, key, texts), key) for assignment, key in draws]


def simulate(habit: Habit, number: int, rng: np.random.Generator) -> AnswerTables:
    """Let annotators of one habit answer and read."""
    forms = forms_of_stories(side_by_side=habit.side_by_side)
    ratings: list[tuple[object, ...]] = []
    stated: list[tuple[object, ...]] = []
    people: list[tuple[object, ...]] = []
    read: list[pl.DataFrame] = []
    for place, own in enumerate(rng.spawn(number)):
        form, key = forms[place % len(forms)]
        who = f"p{place}"
        annotator = SimulatedAnnotator(even_truth(sorted(key.systems.values())), habit.temperament, rng=own)
        answers = annotator.answers(form, key)
        failed = 0
        for question in form.questions("people"):
            match question.target:
                case RatingTarget(item_id=item, label=label, criterion=criterion):
                    ratings.append((who, item, key.systems[label], criterion, answers[question.question_id]))
                case PreferenceTarget(label_x=x, label_y=y, criterion=criterion):
                    percent = float(answers[question.question_id])
                    stated.append((who, key.systems[x], key.systems[y], criterion, percent / 100))
                case CheckTarget(expected=expected):
                    failed += answers[question.question_id] != expected
        people.append((who, failed))
        read.append(_reading(habit, annotator, form, key, who, own))
    frames = {
        "ratings": pl.DataFrame(ratings, ["annotator_id", "item_id", "system", "criterion", "score"], orient="row"),
        "preferences": pl.DataFrame(
            stated, ["annotator_id", "system_x", "system_y", "criterion", "preference"], orient="row"
        ),
        "annotators": pl.DataFrame(people, ["annotator_id", "checks_failed"], orient="row"),
        "reading": pl.concat(read),
    }
    return check_frames(frames, Reading())


def _reading(
    habit: Habit, annotator: SimulatedAnnotator, form: Form, key: BlindingKey, who: str, rng: np.random.Generator
) -> pl.DataFrame:
    exposures = {
        page.page_id: KnownExposure(exposure=parse_exposure(evidence[page.page_id], page), known_by="script")
        for evidence in [annotator.habit.evidence(form, 6.0)]
        for page in form.pages
        if page.page_id in evidence
    }
    rows = [
        (who, "human", form.assignment_id, *cells, None, None)
        for cells in exposure_rows(form, exposures, key.systems, {})
    ]
    table = pl.DataFrame(rows, READING, orient="row").select(COLUMNS)
    if habit.pause:
        pages = table.filter(pl.col("seconds") > 0)["page"].unique(maintain_order=True).to_list()
        paused = pl.col("page") == str(rng.choice(pages))
        longer = pl.when(paused).then(PAUSE).otherwise(0.0)
        table = table.with_columns(pl.col("page_seconds", "seconds") + longer)
    if habit.few:
        shown = table.filter(pl.col("seconds") > 0)["item_id"].unique(maintain_order=True).head(FEW)
        table = table.filter(pl.col("item_id").is_in(shown.implode()))
    return table


def shares(tables: AnswerTables, number: int) -> list[float]:
    """Return the share of annotators that each rule finds by ratings, and the speed rule would by other measures."""
    tables = replace(tables, preferences=None)
    found = find_exclusions(tables, PLAN)
    by_rule = [sum(row.rule == rule for row in found) / number for rule in RULES]
    assert tables.reading is not None
    assert PLAN.max_words_per_minute is not None
    shown = tables.reading.filter(pl.col("seconds") > 0, pl.col("words") > 0)
    each = shown.group_by("annotator_id", "item_id", "system", "sample").agg(
        pl.col("words").first(), pl.col("seconds").sum()
    )
    by_person = each.group_by("annotator_id").agg(
        total=60 * pl.col("words").sum() / pl.col("seconds").sum(),
        alone=(60 * pl.col("words") / pl.col("seconds")).median(),
    )
    others = [(by_person[name] > PLAN.max_words_per_minute).sum() / number for name in ("total", "alone")]
    return [*by_rule, *others]


def sign_shares(tables: AnswerTables, number: int) -> list[float]:
    """Return the share of annotators who show each sign, whatever is declared."""
    signs = careless_signs(tables, Plan(), ())
    return [sum(one.shown for one in signs if one.sign == sign) / number for sign in SIGNS]


def mean_words() -> float:
    """Return the mean length of the outputs shown."""
    tables = simulate(Habit(name="", temperament=Temperament()), 12, np.random.default_rng(0))
    assert tables.reading is not None
    assert reading_speeds(tables.reading)
    return float(tables.reading["words"].drop_nulls().to_numpy().mean())


def write(number: int, seed: int) -> str:
    """Return the table."""
    rng = np.random.default_rng(seed)
    made = [(habit.name, simulate(habit, number, rng)) for habit in habits()]
    head = HEAD.format(number=f"{number:,}", seed=seed, words=mean_words())
    rules = "".join(f"| {name} | {_row(shares(tables, number))} |\n" for name, tables in made)
    signs = "".join(f"| {name} | {_row(sign_shares(tables, number))} |\n" for name, tables in made)
    languages = "".join(
        f"| {language} | {words} | {usual:.1f} | {_row(found)} |\n"
        for language, words, usual, found in language_rows(number, np.random.default_rng(seed))
    )
    return f"{head}{rules}{SIGNS_HEAD}{signs}{LANGUAGES_HEAD}{languages}"


def _row(values: Sequence[float]) -> str:
    return " | ".join(f"{100 * value:.1f} %" for value in values)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.calibration.careless", description=__doc__)
    parser.add_argument("--annotators", type=int, default=1000, help="simulated annotators a row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    given.out.write_text(write(given.annotators, given.seed), encoding="utf-8")
