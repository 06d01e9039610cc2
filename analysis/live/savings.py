"""What a live study spared its annotators and its budget, against asking everybody everything."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from spa.commands.workspace import Workspace
from spa.forms.build import StudyForms
from spa.forms.effort import estimate_effort
from spa.live import LiveState


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSavings:
    """Money and minutes of one group so far; money in the study's currency, without a platform's fee.

    Attributes
    ----------
    people : int
        Who completed their answers, also those left out.
    spent, left : Decimal or None
        Their pay, and that of as many as could still have been asked; ``None`` without pay, or of an LLM.
    minutes, questions : float, int
        That narrower forms spared these people, by the estimate for each form and for the form as it was drawn.
    """

    people: int
    spent: Decimal | None
    left: Decimal | None
    minutes: float
    questions: int


def live_savings(workspace: Workspace, state: LiveState) -> LiveSavings:
    """Return what was spent and spared on the group of a state."""
    done = [
        visit
        for visit in workspace.store.visits.of_people()
        if visit.completed and not visit.extra and visit.annotator_kind == state.group
    ]
    pay = workspace.study.people.pay if done else None
    forms = StudyForms(workspace.study, workspace.outputs, workspace.texts)
    minutes, questions = 0.0, 0
    for assignment, key in workspace.store.assignments.narrowed_as_drawn([visit.assignment_id for visit in done]):
        whole = estimate_effort(forms.build(assignment, key))
        asked = estimate_effort(workspace.form(assignment.assignment_id))
        minutes += whole.minutes - asked.minutes
        questions += whole.questions - asked.questions
    return LiveSavings(
        people=len(done),
        spent=None if pay is None else pay * len(done),
        left=None if pay is None else pay * max(0, state.most - state.units),
        minutes=round(minutes, 1),
        questions=questions,
    )
