"""Bonuses in two steps: set up, which costs nothing and tells the price; pay, which is sent once.

The platform pays everybody again when the second call is repeated. So the call is on record before it
is sent, is never sent again by itself, and where no answer came the platform is looked at; what
cannot be seen there is left to a person.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from prolific.api.problems import ProlificRequestRefused, Unanswered, Unreachable
from prolific.api.records import BonusBatch
from prolific.bonuses import ProlificBonus
from prolific.idempotent_calls import KIND, UnknownOutcome
from prolific.prolific_study import ProlificStudy
from spa.journal import STARTED, JournalEntry
from spa.platforms.idempotent_calls import DONE, NO_EFFECT, REFUSED, Content

PAY = "pay bonuses "  # then the batch
MOST_POLLS = 20
Said = Literal["paid", "unpaid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What has been paid, in cents by name, and the payments whose outcome is unknown."""

    paid: Mapping[str, int]
    in_doubt: tuple[JournalEntry, ...]


def read_ledger(prolific_study: ProlificStudy) -> Ledger:
    """Read what the journal says of all payments of this store."""
    paid: dict[str, int] = {}
    in_doubt = []
    for call in prolific_study.idempotent_calls.journal.calls(KIND, prolific_study.key):
        if not call.key.startswith(PAY):
            continue
        if call.outcome == DONE:
            paid |= {line["name"]: line["amount"] for line in json.loads(call.request)["bonuses"]}
        elif call.outcome == STARTED:
            in_doubt.append(call)
    return Ledger(paid=paid, in_doubt=tuple(in_doubt))


def settle(prolific_study: ProlificStudy, said: Said | None) -> None:
    """Settle payments that got no answer: by looking at the platform, else by what a person says.

    Raises
    ------
    UnknownOutcome
        If the platform does not show it all and nobody has said.
    """
    for call in read_ledger(prolific_study).in_doubt:
        lines = json.loads(call.request)["bonuses"]
        missing = _missing(prolific_study, call)
        if not missing:
            prolific_study.idempotent_calls.journal.finish(call, DONE, seen="on the platform")
        elif said is not None:
            prolific_study.idempotent_calls.journal.finish(
                call, DONE if said == "paid" else NO_EFFECT, seen=f"a person says {said}"
            )
        else:
            raise UnknownOutcome(
                f"Prolific: the payment of {len(lines)} bonuses ({call.key.removeprefix(PAY)}) got no answer, and the "
                f"platform shows {len(lines) - len(missing)} of them; it pays late, and twice when asked twice, "
                "so nothing was sent again. Look at the study's bonuses on the platform in some minutes, then run the "
                "command again, with --settle paid or --settle unpaid if it is still undecided"
            )


def set_up(prolific_study: ProlificStudy, session: int, bonuses: Sequence[ProlificBonus]) -> BonusBatch:
    """Set bonuses of one session up and return what they cost; nothing is paid.

    A set-up that got no answer is made again: what is not paid costs nothing.
    """
    study_id = prolific_study.need_study(session)
    amounts: Counter[str] = Counter()
    for one in bonuses:
        amounts[one.submission_id] += one.amount
    digest = sha256(json.dumps([study_id, *sorted([one.name, one.amount] for one in bonuses)]).encode()).hexdigest()

    def send() -> Content:
        batch = prolific_study.platform.payments.set_up_bonuses(study_id, amounts)
        return {
            "batch_id": batch.batch_id,
            "amount": batch.amount,
            "fees": batch.fees,
            "vat": batch.vat,
            "total": batch.total,
        }

    request = {"study_id": study_id, "amounts": dict(amounts)}
    facts = prolific_study.idempotent_calls.execute(
        f"set up bonuses {digest[:16]}", request, send=send, find=lambda call: None
    )
    return BonusBatch(**{name: facts[name] for name in ("batch_id", "amount", "fees", "vat", "total")})


def pay(prolific_study: ProlificStudy, batch: BonusBatch, bonuses: Sequence[ProlificBonus]) -> None:
    """Pay bonuses that were set up: on record before, sent once, and seen afterwards where no answer came.

    Raises
    ------
    UnknownOutcome
        If no answer came and the platform does not show the payment (yet).
    ProlificError
        If the platform refuses; nothing was paid then.
    """
    before = {one.submission_id: list(_seen(prolific_study, one.submission_id)) for one in bonuses}
    request = {
        "batch_id": batch.batch_id,
        "bonuses": [{"name": one.name, "submission_id": one.submission_id, "amount": one.amount} for one in bonuses],
        "before": before,
    }
    call = prolific_study.idempotent_calls.journal.begin(
        KIND, prolific_study.key, f"{PAY}{batch.batch_id}", json.dumps(request, sort_keys=True)
    )
    try:
        prolific_study.platform.payments.pay_bonuses(batch.batch_id)
    except (ProlificRequestRefused, Unreachable) as error:
        prolific_study.idempotent_calls.journal.finish(call, REFUSED, response=str(error))
        raise
    except Unanswered:
        wait_until_seen(prolific_study, call)
        settle(prolific_study, None)
        return
    prolific_study.idempotent_calls.journal.finish(call, DONE, total=batch.total)


def wait_until_seen(prolific_study: ProlificStudy, call: JournalEntry) -> int:
    """Look until the platform shows all bonuses of a payment, for a while; return how many it does not show."""
    missing: Iterable[str] = ()
    for number in range(MOST_POLLS):
        if number == 1:
            prolific_study.idempotent_calls.announce(
                "Prolific pays with a delay; waiting until the bonuses can be seen"
            )
        missing = _missing(prolific_study, call)
        if not missing:
            return 0
        prolific_study.sleep(prolific_study.poll_seconds)
    return len(tuple(missing))


def last_payment(prolific_study: ProlificStudy, batch_id: str) -> JournalEntry:
    """Return the last call that paid a batch."""
    return prolific_study.idempotent_calls.journal.calls(KIND, prolific_study.key, f"{PAY}{batch_id}")[-1]


def _missing(prolific_study: ProlificStudy, call: JournalEntry) -> list[str]:
    """Return the names of a payment's bonuses that the platform does not show beyond those of before."""
    request: Mapping[str, Any] = json.loads(call.request)
    wanted: Counter[str] = Counter()
    for line in request["bonuses"]:
        wanted[line["submission_id"]] += line["amount"]
    unseen = set()
    for submission_id, amount in wanted.items():
        new = Counter(_seen(prolific_study, submission_id)) - Counter(request["before"].get(submission_id, []))
        if new[amount] == 0:
            unseen.add(submission_id)
    return [line["name"] for line in request["bonuses"] if line["submission_id"] in unseen]


def _seen(prolific_study: ProlificStudy, submission_id: str) -> tuple[int, ...]:
    return prolific_study.platform.submissions.fetch(submission_id).bonuses
