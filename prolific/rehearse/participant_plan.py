"""Who is cast for a rehearsal: in which shares, what each takes for true, and who uses a real browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from prolific.rehearse.environment import RehearsalEnvironment
from prolific.rehearse.http_client import AnswerSource
from prolific.rehearse.participant_traffic import ParticipantPlan
from prolific.rehearse.participants import Scenario, SimulatedParticipant, read_shares
from spa.commands.workspace import Workspace
from spa.forms.form import Form
from spa.simulation.simulated_annotators import CROWD, SimulatedAnnotator, Temperament
from spa.simulation.true_utilities import TrueUtilities, even_truth


def cast(stage: RehearsalEnvironment, given: Mapping[str, float], *, browsers: int, seed: int) -> ParticipantPlan:
    """Return who comes to a study, how they answer, and who of them uses a real browser.

    Parameters
    ----------
    stage : RehearsalEnvironment
        What the study is rehearsed on.
    given : mapping of str to float
        Shares of those who come, by what they do; what is not named is as usual.
    browsers, seed : int
        How many at most use a browser, and what draws people.
    """
    study = stage.workspace.study
    shares = read_shares(
        given,
        consent=bool((study.consent.text or "").strip()),
        screening=bool(study.screening),
        checks=bool(study.attention_checks),
    )
    truth = even_truth([system.id for system in study.compared], seed=study.seed)
    worse_when_higher = {criterion.id for criterion in study.criteria if criterion.lower_is_better}
    truth = truth.model_copy(update={"lower_is_better": truth.lower_is_better | worse_when_higher})
    answering = _answering(stage.workspace, truth, CROWD, seed)
    in_browser: Callable[[SimulatedParticipant, str], None] | None = None
    if browsers:
        from prolific.rehearse.browser_client import visit_in_browser

        def in_browser(one: SimulatedParticipant, submission_id: str) -> None:
            visit_in_browser(submission_id, answering(one), stage.platform_url)

    return ParticipantPlan(seed=seed, shares=shares, answering=answering, in_browser=in_browser, browsers=browsers)


def _answering(
    workspace: Workspace, truth: TrueUtilities, temperament: Temperament, seed: int
) -> Callable[[SimulatedParticipant], AnswerSource]:
    """Return how each person answers: who is to be screened out or to fail checks does, and nobody else."""

    def of(one: SimulatedParticipant) -> AnswerSource:
        fate: Scenario = one.fate
        own = temperament.model_copy(
            update={
                "not_eligible": 1.0 if fate == "screened out" else 0.0,
                "failing_checks": 1.0 if fate == "fails checks" else 0.0,
            }
        )

        @cache
        def answer(assignment_id: str) -> tuple[Form, Mapping[str, str]]:
            form = workspace.form(assignment_id)
            annotator = SimulatedAnnotator(truth, own, rng=one.rng(seed))
            return form, annotator.answers(form, workspace.store.key(assignment_id))

        return answer

    return of
