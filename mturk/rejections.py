"""Rejected submissions leave the analysis by an entry in the log of decisions; a rejection taken back takes it out."""

from __future__ import annotations

from functools import partial

from mturk import records
from mturk.collecting import REJECTED
from spa.responses.decisions import PROGRAM, Decision, add_decision, read_decisions
from spa.responses.store import Store

REVIEWER = f"{PROGRAM}mturk"  # who decides, in the log
RULE = "rejected by the requester"


def note_rejections(store: Store, endpoint: str, *, now: float) -> None:
    """Bring the log of decisions up to what is rejected at an endpoint; what a reviewer undid stays undone."""
    works = [work for work in records.all_works(store, endpoint) if work.submission_id is not None]
    with store.transaction() as connection:
        log = read_decisions(connection)
        undone = {decision.undoes for decision in log}
        own = {
            decision.submission_id: decision
            for decision in log
            if decision.reviewer == REVIEWER and decision.action in ("exclude", "undo")
        }
        for work in works:
            last = own.get(str(work.submission_id))
            noted = last is not None and last.action == "exclude"
            rejected = work.status == REJECTED
            entry = partial(Decision, submission_id=str(work.submission_id), reviewer=REVIEWER, decided_at=now)
            if rejected and not noted:
                reason = (work.feedback or "").strip() or "no reason given"
                add_decision(connection, entry(action="exclude", rule=RULE, note=reason))
            elif not rejected and noted and last is not None and last.number not in undone:
                add_decision(connection, entry(action="undo", undoes=last.number))
