"""The receipt that the survey server's last page hands in at the endpoint: it says which visit is finished."""

from __future__ import annotations

from spa.responses.store import Store

SOURCE = "mturk"  # of visits, in the store
RECEIPT_FIELD = "spa_receipt"


def make_receipt(store: Store, submission_id: str) -> str:
    """Return the receipt of a visit: nobody without the store can make it."""
    return store.annotator_id(f"receipt of {submission_id}")
