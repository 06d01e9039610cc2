"""Who shows signs of careless answering in a study's store, as ``spa status`` says it."""

from __future__ import annotations

from collections.abc import Callable

from analysis.answers.careless_signs import careless_signs
from analysis.answers.columns import ANSWERS, KNOWN
from analysis.answers.exclusions import find_exclusions
from analysis.answers.options import Reading
from analysis.answers.study_facts import plan_of
from analysis.answers.tables import check_frames
from analysis.printing.words import plural
from analysis.results.overview import sign_counts, sign_rows
from analysis.results.sign_words import signs_in_words
from spa.careless import ShownSign, SignCount, SignsFound
from spa.records.form import Form
from spa.records.study import Study
from spa.responses.export import export_tables
from spa.responses.store import Store
from spa.responses.tidy_tables import TABLES

NOTHING = SignsFound(counts=(), shown=(), words=())


def careless_people(study: Study, store: Store, form_of: Callable[[str], Form]) -> SignsFound:
    """Return the signs that people show by now; nothing while nobody has answered.

    Simulated annotators stand for people where nobody else came.
    """
    exported = export_tables(store, form_of=form_of)
    frames = {
        name: getattr(exported, name) for name in (*TABLES, *([] if exported.reading.is_empty() else ["reading"]))
    }
    frames |= {name: frame for name, frame in exported.more.items() if name in KNOWN}
    if all(frames[name].is_empty() for name in (*ANSWERS, "spans") if name in frames):
        return NOTHING
    tables, plan = check_frames(frames, Reading(), agreed=True), plan_of(study)
    told = study.instructions.explains_sum
    signs = careless_signs(tables, plan, find_exclusions(tables, plan), sum_explained=told)
    kinds = {one.group for one in signs}
    groups = {"human"} if "human" in kinds else kinds
    signs = [one for one in signs if one.group in groups]
    rows, counts = sign_rows(signs), sign_counts(signs, plan)
    words = []
    for group in dict.fromkeys(row.group for row in rows):
        own = [row for row in counts if row.group == group]
        people = own[0].annotators
        units = plural(people, "person", "people") if group == "human" else plural(people, "simulated annotator")
        shown = [row for row in rows if row.group == group]
        words.append(signs_in_words(shown, [row for row in own if row.shown], plan, units))
    return SignsFound(
        counts=tuple(
            SignCount(
                sign=row.sign,
                people=row.annotators,
                not_checkable=row.not_checkable,
                shown=row.shown,
                excluded=row.excluded,
            )
            for row in counts
        ),
        shown=tuple(
            ShownSign(annotator_id=row.annotator_id, sign=row.sign, evidence=row.evidence, excluded_by=row.excluded_by)
            for row in rows
        ),
        words=tuple(words),
    )
