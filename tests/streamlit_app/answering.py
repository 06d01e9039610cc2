"""Studies answered without a server between the people and the store: the server has tests of its own."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import urlencode

from spa.commands.simulate import SOURCE, annotators_by_link, reserve_links
from spa.commands.simulation import choose_truth
from spa.commands.workspace import Workspace, open_workspace
from spa.live import LiveProgress
from spa.responses.rehearsal import COPY, FACT
from spa.server.form_posts import parse_post
from spa.server.survey_context import SurveyContext
from spa.server.visit_transactions import VisitTransactions
from spa.simulation.simulated_annotators import CROWD
from spa.simulation.survey_client import Answering
from tests.warm import WarmProcess


def typed(*commands: list[str]) -> None:
    """Run commands one after the other, in processes of their own: the browser's event loop runs in this one."""
    for words in commands:
        process = WarmProcess(words)
        said, _ = process.communicate()
        assert process.returncode == 0, f"spa {' '.join(words)}: {said}"


def rehearsed_here(study: Path) -> None:
    """Let whoever is simulated answer in the study's own store, which becomes that of a rehearsal."""
    with open_workspace(study) as workspace:
        workspace.store.set_meta(FACT, COPY)


def answer(study: Path, annotators: int) -> None:
    """Let simulated people answer, whose pages are taken as the survey server takes them."""
    rehearsed_here(study)
    with open_workspace(study) as workspace:
        truth, temperament, _ = choose_truth(workspace, truth=None, utilities={}, likert_reversal=None, otherwise=CROWD)
        context = SurveyContext(
            study=workspace.study,
            texts=workspace.texts,
            store=workspace.store,
            public_url="",
            clock=time.time,
            form=workspace.form,
            live=LiveProgress(workspace.study, workspace.store, "simulated"),
            minutes=lambda: 1,
            annotator_kind="simulated",
        )
        taking = VisitTransactions(context, workspace.form, source=SOURCE)
        annotator_of = annotators_by_link(workspace, truth, temperament, seed=0)
        for token in reserve_links(workspace.store, annotators, workspace.study.people):
            _go_through(workspace, taking, annotator_of(token), token)


def _go_through(workspace: Workspace, taking: VisitTransactions, people: Answering, token: str) -> None:
    with workspace.store.transaction() as connection:
        visit = taking.open_visit(connection, token)
        form, answers = people(visit.lease.assignment_id)
        for page in form.pages:
            fields = {question.question_id: answers[question.question_id] for question in page.questions}
            taken = taking.submit(connection, token, page.page_id, parse_post(urlencode(fields).encode()), "on")
        assert taken is not None
        assert taken.ended
