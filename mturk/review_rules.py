"""What the protocol asks of whoever rejects work, as the dashboard shows it; nothing here needs boto3."""

from __future__ import annotations

import re

from spa.journal import Journal
from spa.platforms.idempotent_calls import DONE
from spa.platforms.review import ReviewRules
from spa.responses.store import Store

LONGEST_REASON = 1024  # characters that the annotator reads
SHORTEST_REASON = 10  # characters; a rejection stays with an annotator for good, and "bad" explains nothing
OVERRIDE_DAYS = 30  # after submission, in which a rejection can be taken back
LINES = (
    f"The annotator reads the message and nothing else: say in at most {LONGEST_REASON} characters what was wrong.",
    "A rejection lowers the annotator's approval rate, by which others choose whom to let in.",
    f"It can be taken back for {OVERRIDE_DAYS} days, an approval never. What nobody reviews is approved by itself.",
)
COMMANDS = (
    "spa mturk approve STUDY",
    "spa mturk reject STUDY --decided",
    "spa mturk bonus STUDY --decided",
    "spa mturk notify STUDY --decided",
)


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
