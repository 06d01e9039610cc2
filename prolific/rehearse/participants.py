"""Simulated participants of a rehearsal: their scenarios and their answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from prolific.rehearse.environment import RehearsalEnvironment
from prolific.rehearse.http_client import AnswerSource
from spa.commands.workspace import Workspace
from spa.errors import StudyError
from spa.records.form import Form
from spa.simulation.simulated_annotators import CROWD, SimulatedAnnotator
from spa.simulation.true_utilities import TrueUtilities, truth_of

Scenario = str
STORIES: Mapping[
    Scenario, tuple[float, str]
] = {  # share of those who come, and what they do; whoever is left completes
    "completes": (0.0, "answers everything and comes back with the code"),
    "second device": (0.08, "opens the address a second time, on another device, and continues there"),
    "declines": (0.02, "does not consent, and returns the place when asked to"),
    "screened out": (0.05, "is not among the people asked, and returns the place when asked to"),
    "fails checks": (0.04, "answers everything, but the attention checks wrongly"),
    "drops out": (0.06, "stops halfway without returning the place; the time runs out"),
    "returns": (0.04, "stops halfway and returns the place"),
    "never opens": (0.03, "takes a place and does not open the study"),
    # What the platform does with late people is not verified, and they may cost more than planned.
    "late": (0.0, "answers everything, and enters the code when the time is up"),
    "no code": (0.03, "answers everything, closes the page, and says that there was no code"),
    "wrong code": (0.02, "answers everything, and types a wrong code"),
    "no answers": (0.02, "claims to be done without having answered"),
}
SCENARIOS = tuple(STORIES)
SHARES = {name: share for name, (share, _) in STORIES.items() if name != "completes"}
SHORTEST, LONGEST = 0.25, 2.0  # of the estimated time
SPREAD = 0.35  # sd of the logarithm of the time taken


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedParticipant:
    """A simulated participant, determined by a seed and a number."""

    number: int
    participant_id: str
    scenario: Scenario
    patience: float  # share of the way that somebody goes who leaves
    pace: float  # time taken, as a share of the estimate
    gap: float  # since the person before came, as a share of the mean

    def rng(self, seed: int) -> np.random.Generator:
        """Return the random generator of this participant's answers."""
        return np.random.default_rng([seed, self.number, 1])


def draw_participant(seed: int, number: int, shares: Mapping[Scenario, float]) -> SimulatedParticipant:
    """Draw a participant.

    >>> one = draw_participant(1, 5, {"late": 1.0})
    >>> one.scenario, one == draw_participant(1, 5, {"late": 1.0}), len(one.participant_id)
    ('late', True, 24)
    """
    rng = np.random.default_rng([seed, number, 0])
    chance, patience, pace, gap = rng.random(), rng.uniform(0.2, 0.8), rng.normal(), rng.exponential()
    scenario: Scenario = "completes"
    for name, share in shares.items():
        if chance < share:
            scenario = name
            break
        chance -= share
    return SimulatedParticipant(
        number=number,
        participant_id=hashlib.sha256(f"rehearsal {seed} {number}".encode()).hexdigest()[:24],
        scenario=scenario,
        patience=float(patience),
        pace=float(np.clip(np.exp(SPREAD * pace), SHORTEST, LONGEST)),
        gap=float(gap),
    )


def read_shares(
    by_scenario: Mapping[str, float], *, consent: bool, screening: bool, checks: bool
) -> dict[Scenario, float]:
    """Return the share of each scenario: the given ones, and defaults for the others.

    Without ``consent``, ``screening`` or ``checks`` in the study, nobody fails them. Raise StudyError if a scenario is
    unknown, a share is not from 0 to 1, or they add up to more than 1.
    """
    known = {name.replace(" ", "-"): name for name in SCENARIOS if name != "completes"}
    unknown = [name for name in by_scenario if name not in known]
    if unknown:
        raise StudyError(f"--share: expected one of {', '.join(known)}, got {unknown[0]!r}")
    possible: dict[Scenario, bool] = {"declines": consent, "screened out": screening, "fails checks": checks}
    shares: dict[Scenario, float] = dict(SHARES)
    shares |= {known[name]: share for name, share in by_scenario.items()}
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise StudyError(f"--share {name.replace(' ', '-')}: expected 0 to 1, got {share}")
    shares = {name: share if possible.get(name, True) else 0.0 for name, share in shares.items()}
    if sum(shares.values()) > 1:
        raise StudyError(f"--share: expected shares that add up to 1 at most, got {sum(shares.values()):g}")
    return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantPlan:
    """Which participants come, and how they answer."""

    seed: int
    shares: Mapping[Scenario, float]
    answering: Callable[[SimulatedParticipant], AnswerSource]
    in_browser: Callable[[SimulatedParticipant, str], None] | None = None  # a whole visit in a real browser
    browsers: int = 0  # how many people use one


def plan_participants(
    stage: RehearsalEnvironment, by_scenario: Mapping[str, float], *, browsers: int, seed: int
) -> ParticipantPlan:
    """Return the plan of a study's participants, of whom ``browsers`` use a real browser.

    ``by_scenario`` are shares of scenarios; the others keep their defaults.
    """
    study = stage.workspace.study
    shares = read_shares(
        by_scenario,
        consent=bool((study.consent.text or "").strip()),
        screening=bool(study.screening),
        checks=bool(study.attention_checks),
    )
    truth = truth_of(study)
    worse_when_higher = {criterion.id for criterion in study.criteria if criterion.lower_is_better}
    truth = truth.model_copy(update={"lower_is_better": truth.lower_is_better | worse_when_higher})
    answering = _answer_source(stage.workspace, truth, seed)
    in_browser: Callable[[SimulatedParticipant, str], None] | None = None
    if browsers:
        from prolific.rehearse.http_client import visit_in_browser

        def in_browser(one: SimulatedParticipant, submission_id: str) -> None:
            visit_in_browser(submission_id, answering(one), stage.platform_url)

    return ParticipantPlan(seed=seed, shares=shares, answering=answering, in_browser=in_browser, browsers=browsers)


def _answer_source(
    workspace: Workspace, truth: TrueUtilities, seed: int
) -> Callable[[SimulatedParticipant], AnswerSource]:
    """Return how each participant answers; only the scenario decides who is screened out or fails checks."""

    def of(one: SimulatedParticipant) -> AnswerSource:
        failing = {"not_eligible": "screened out", "failing_checks": "fails checks"}
        odds = {name: float(one.scenario == scenario) for name, scenario in failing.items()}
        temperament = CROWD.model_copy(update=odds)

        @cache
        def answer(assignment_id: str) -> tuple[Form, Mapping[str, str]]:
            form = workspace.form(assignment_id)
            again = workspace.study.people.sessions > 1
            noise = np.random.default_rng([seed, one.number, 2, *assignment_id.encode()]) if again else None
            annotator = SimulatedAnnotator(truth, temperament, rng=one.rng(seed), answering=noise)
            return form, annotator.answers(form, workspace.store.assignments.key(assignment_id))

        return answer

    return of
