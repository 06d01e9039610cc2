"""Rules of the protocol for rejecting work, as the dashboard shows them, and the log of rejections."""

from __future__ import annotations

import re
from functools import partial

from mturk import records
from mturk.records import REJECTED
from spa.journal import Journal
from spa.platforms.idempotent_calls import DONE
from spa.platforms.review import ReviewRules
from spa.responses.decisions import PROGRAM, Decision, add_decision, read_decisions
from spa.responses.store import Store

LONGEST_REASON = 1024  # characters that the annotator reads
SHORTEST_REASON = 10  # characters; a rejection stays with an annotator for good, and "bad" explains nothing
OVERRIDE_DAYS = 30  # after submission, in which a rejection can be taken back
LINES = (
    f"The annotator sees only this message: say in at most {LONGEST_REASON} characters what was wrong.",
    "A rejection lowers the annotator's approval rate, by which other requesters decide whom to admit.",
    f"It can be reversed for {OVERRIDE_DAYS} days, an approval never. What nobody reviews is approved automatically.",
)
COMMANDS = (
    "spa mturk approve STUDY",
    "spa mturk reject STUDY --decided",
    "spa mturk bonus STUDY --decided",
    "spa mturk notify STUDY --decided",
)
REVIEWER = f"{PROGRAM}mturk"  # who decides, in the log
RULE = "rejected by the requester"


def review_rules() -> ReviewRules:
    """Return the rules as the dashboard shows them."""
    return ReviewRules(
        platform="MTurk protocol",
        categories=(),
        shortest_message=SHORTEST_REASON,
        lines=LINES,
        commands=COMMANDS,
        paid_bonuses=paid_bonuses,
    )


def paid_bonuses(store: Store) -> frozenset[int]:
    """Return the numbers of the decisions on bonuses that were paid."""
    done = (call.key for call in Journal(store).every("mturk") if call.outcome == DONE)
    found = (re.fullmatch(r"bonus/[^/]*/decision (\d+)", key) for key in done)
    return frozenset(int(match[1]) for match in found if match)


def note_rejections(store: Store, endpoint: str, *, now: float) -> None:
    """Log the rejections at an endpoint as decisions to exclude; what a reviewer undid stays undone."""
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
