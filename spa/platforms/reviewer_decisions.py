"""Reviewers' decisions as the bridges to platforms carry them out: what stands, and what may be paid without a look.

How a platform approves, rejects, pays and writes is its bridge's own; what a decision means is the same for all.
"""

from __future__ import annotations

from spa.responses.decisions import Decision, VisitDecisions, read_standing
from spa.responses.store import Store

PROPOSED = "a reviewer proposed a rejection"


def decided_by_reviewers(store: Store) -> dict[str, VisitDecisions]:
    """Return what stands of all decisions, by our own visit."""
    with store.reading() as connection:
        return read_standing(connection)


def proposed_rejection(standing: VisitDecisions | None) -> Decision | None:
    """Return the proposal to reject that stands."""
    decision = None if standing is None else standing.payment
    return decision if decision is not None and decision.action == "propose_rejection" else None


def is_approved(standing: VisitDecisions | None) -> bool:
    """Say whether a reviewer's approval stands."""
    return standing is not None and standing.payment is not None and standing.payment.action == "approve"


def reason_to_look(standing: VisitDecisions | None, *, held: str | None, lacking: str | None) -> str | None:
    """Return why somebody must look before work is approved with all others; ``None`` where nobody need.

    A reviewer's approval outweighs answers that are lacking, which the reviewer saw. It does not outweigh a doubt
    about who handed the work in or how often, which only the platform's records show.

    Parameters
    ----------
    standing : VisitDecisions or None
        What stands of the decisions on the visit.
    held : str or None
        The doubt about who handed in, in words.
    lacking : str or None
        What is wrong with the answers, in words.

    Examples
    --------
    >>> approved = Decision(submission_id="s1", action="approve", reviewer="Ana", decided_at=0)
    >>> standing = VisitDecisions(submission_id="s1", payment=approved)
    >>> reason_to_look(standing, held=None, lacking="no answers"), reason_to_look(None, held=None, lacking="no answers")
    (None, 'no answers')
    >>> reason_to_look(standing, held="twice", lacking=None)
    'twice'
    """
    if proposed_rejection(standing) is not None:
        return PROPOSED
    if held is not None:
        return held
    return None if is_approved(standing) else lacking
