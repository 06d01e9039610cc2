"""What ties a visit to a submission at the endpoint: the claim at its start, the receipt at its end."""

from __future__ import annotations

from spa.responses.outcomes import claimed_name
from spa.responses.store import Store

SOURCE = "mturk"  # of visits, in the store
RECEIPT_FIELD = "spa_receipt"


def make_receipt(store: Store, submission_id: str) -> str:
    """Return the receipt of a visit: nobody without the store can make it."""
    return store.keyed(f"receipt of {submission_id}")


def claim_name(store: Store, mturk_assignment_id: str, worker_id: str) -> str:
    """Return the name of the visit of somebody who says to be this worker with this assignment."""
    return claimed_name(store.keyed(f"{mturk_assignment_id} {worker_id}"))
