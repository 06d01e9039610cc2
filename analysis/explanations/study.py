"""The explanations and comments of a study's analysed answers, with the names to mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.explanations.texts import ExplainedText, explained_texts

if TYPE_CHECKING:
    from analysis.answers.study_answers import StudyAnswers


def texts_of(found: StudyAnswers) -> tuple[list[ExplainedText], list[str], str]:
    """Return the texts whose answers the plan keeps, the names and ids of criteria, and the language."""
    from analysis.answers.input import prepare_input
    from analysis.descriptives.explanations import explanations_of

    ready = prepare_input(found.tables, found.plan, found.facts)
    facts = found.facts
    texts = explained_texts(explanations_of(ready.kept, ready.orders), facts.interview if facts else ())
    names = [name for one in (facts.criteria if facts else ()) for name in (one.id, one.name or one.id)]
    names += [one.criterion for one in texts]
    return texts, list(dict.fromkeys(names)), facts.language if facts else "en"
