"""Rejections: proposed in a file, decided by a person in that file, checked against the rules, and only then sent."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from prolific.api.records import AWAITING_REVIEW, PAID, REJECTED, SubmissionRecord
from prolific.collecting import SessionReconciliation
from prolific.completion_url import session_codes
from prolific.prolific_study import ProlificStudy
from prolific.review_rules import CATEGORIES, LINES, Facts, mechanical_grounds, problems_of
from spa.errors import StudyError, unreadable
from spa.files import write_text
from spa.journal import JournalEntry
from spa.platforms.idempotent_calls import Content
from spa.platforms.review import proposed_rejection
from spa.responses.decisions import VisitDecisions

MESSAGES = {
    "TOO_QUICKLY": "Thank you for taking part. We could not use your submission: it was finished far faster than the "
    "texts can be read ({evidence}). If something went wrong on your side, please write to us.",
    "FAILED_CHECK": "Thank you for taking part. We could not use your submission: attention checks, which ask for a "
    "particular answer, were answered differently ({evidence}). Please write to us if you think that this is wrong.",
    "NO_DATA": "Thank you for your interest. We could not find your answers: {evidence}. If you did take part, please "
    "write to us, say when and with which browser, and we will look again.",
}


class Proposal(BaseModel):
    """One rejection as it stands in the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    submission: str
    reject: bool
    category: str
    message: str
    evidence: str = ""
    requirement: str = ""  # the study's words that were not followed, for what a person saw
    seen: str = ""  # what the person saw


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A rejection with the records that it is checked against."""

    session: int
    proposal: Proposal
    facts: Facts


def gather_facts(prolific_study: ProlificStudy, collected: SessionReconciliation) -> dict[str, Facts]:
    """Return for each submission of a session what a rejection would be checked against."""
    finished = [one for one in collected.records if one.status == AWAITING_REVIEW or one.status in PAID]
    times = [one.seconds for one in finished if one.seconds is not None]
    answered = {one.submission_id: one for one in prolific_study.store.submissions()}
    study = prolific_study.workspace.study
    stated = " ".join(
        text or "" for text in (prolific_study.table.description, study.instructions.text, study.consent.text)
    )
    return {
        record.submission_id: Facts(
            record=record,
            visit=(visit := collected.visit(record.submission_id)),
            submission=None if visit is None else answered.get(visit.submission_id),
            times=times,
            minutes=prolific_study.offer.minutes,
            stated=stated,
            codes=tuple(session_codes(prolific_study.store, collected.session).values()),
        )
        for record in collected.records
    }


def propose(facts: Iterable[Facts], decided: Mapping[str, VisitDecisions]) -> tuple[Proposal, ...]:
    """Return what could be rejected: what follows from the records, and what reviewers proposed.

    Every proposal says ``reject = false``; a person sets it.
    """
    proposals = []
    for one in facts:
        if one.record.status != AWAITING_REVIEW:
            continue
        grounds = mechanical_grounds(one)
        decision = None if one.visit is None else proposed_rejection(decided.get(one.visit.submission_id))
        proposal = partial(Proposal, submission=one.record.submission_id, reject=False)
        if decision is not None:
            category = decision.rule or (grounds[0].category if grounds else "")
            evidence = "; ".join(ground.evidence for ground in grounds) or f"proposed by {decision.reviewer}"
            note = decision.note or ""
            proposals.append(proposal(category=category, message=note, evidence=evidence, seen=note))
        elif grounds:
            category, evidence = grounds[0].category, grounds[0].evidence
            message = MESSAGES[category].format(evidence=evidence)
            proposals.append(proposal(category=category, message=message, evidence=evidence))
    return tuple(proposals)


def write_proposals(path: Path, proposals: Sequence[Proposal]) -> None:
    """Write proposals for a person to decide on; an existing file is not overwritten.

    Raises
    ------
    StudyError
        If there is such a file.
    """
    if path.exists():
        raise StudyError(f"{path}: expected a file that does not exist yet, got one; it may hold decisions")
    head = [
        "# Possible rejections. Set reject = true where you decide so, and edit the message.",
        "# The rules:",
    ]
    head += [f"#   {line}" for line in LINES]
    head += [
        f"# Categories: {', '.join(CATEGORIES)}",
        "# LOW_EFFORT and FAILED_INSTRUCTIONS need requirement and seen.",
        "",
    ]
    blocks = []
    for one in proposals:
        blocks.append("[[rejections]]")
        for name, value in one.model_dump().items():
            blocks.append(f"{name} = {json.dumps(value, ensure_ascii=False)}")
        blocks.append("")
    write_text(path, "\n".join([*head, *blocks]))


def read_proposals(path: Path) -> tuple[Proposal, ...]:
    """Read the file in which a person has decided; only those with ``reject = true`` are returned.

    Raises
    ------
    StudyError
        One line a mistake.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(unreadable(path, error)) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StudyError(f"{path}: expected a TOML file with [[rejections]], got {error}") from error
    entries = content.get("rejections", [])
    if set(content) - {"rejections"} or not isinstance(entries, list):
        raise StudyError(f"{path}: expected [[rejections]] and nothing else, got {', '.join(content)}")
    found, problems = [], []
    for number, entry in enumerate(entries, start=1):
        try:
            found.append(Proposal.model_validate(entry))
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                place = ".".join(str(step) for step in detail["loc"])
                problems.append(f"{path}: [[rejections]] {number}, {place}: {detail['msg']}")
    twice = {one.submission for one in found if [other.submission for other in found].count(one.submission) > 1}
    problems += [f"{path}: submission {one} is listed twice" for one in sorted(twice)]
    if problems:
        raise StudyError(*problems)
    return tuple(one for one in found if one.reject)


def check_cases(
    path: Path,
    proposals: Sequence[Proposal],
    known: Mapping[str, tuple[int, Facts]],
    decided_by_two: Mapping[str, VisitDecisions] | None = None,
) -> tuple[Case, ...]:
    """Check every rejection against the rules and the records as they are now.

    Where two reviewers decide, ``decided_by_two`` holds what stands of that, by visit: nothing else is rejected.

    Raises
    ------
    StudyError
        One line for each thing that is not as the rules want it; then none is sent.
    """
    cases, problems = [], []
    for one in proposals:
        if one.submission not in known:
            problems.append(f"{path}: {one.submission}: no submission of this study")
            continue
        session, facts = known[one.submission]
        if facts.record.status == REJECTED:
            continue  # done in a run before
        found = problems_of(
            facts, category=one.category, message=one.message, requirement=one.requirement, seen=one.seen
        )
        visit = "" if facts.visit is None else facts.visit.submission_id
        if decided_by_two is not None and proposed_rejection(decided_by_two.get(visit)) is None:
            found = (*found, "expected a rejection that two reviewers agree on or a third settled (spa dashboard)")
        problems += [f"{path}: {one.submission}: {problem}" for problem in found]
        cases.append(Case(session=session, proposal=one, facts=facts))
    if problems:
        raise StudyError(*problems)
    return tuple(cases)


def reject(prolific_study: ProlificStudy, case: Case) -> SubmissionRecord:
    """Reject one submission; its status on the platform says whether it is done, so that a repeat is safe."""
    one, submissions = case.proposal, prolific_study.platform.submissions

    def send() -> Content:
        submissions.reject(one.submission, category=one.category, message=one.message)
        return {}

    def find(entry: JournalEntry) -> Content | None:
        return {} if submissions.fetch(one.submission).status == REJECTED else None

    calls = prolific_study.idempotent_calls
    request = {"category": one.category, "message": one.message, "evidence": one.evidence or one.seen}
    call = calls.new_call(f"reject {one.submission}", request, send=send, find=find, state_decides=True)
    calls.execute_call(call)
    return submissions.fetch(one.submission)
