"""What a rehearsal would have cost: the platform's bill beside the estimate, and why they differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx2

from spa.errors import PlatformError

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """Amounts in cents, with fractions where the platform charges some."""

    currency: str
    estimate: int | None  # the platform's calculator, before anything was published; of a live study its first wave
    fixed: int | None  # the same for all places that there may be
    most: int | None  # so many, of a live study
    rewards: Decimal
    fees: Decimal
    tax: Decimal
    bonuses: Decimal  # with their fees and tax
    studies: int  # one a session
    places: int  # of all studies
    paid: int  # submissions

    @property
    def total(self) -> Decimal:
        """Return what rewards cost in all, without bonuses."""
        return self.rewards + self.fees + self.tax

    @property
    def difference(self) -> Decimal | None:
        """Return by how much the bill is above the estimate, in whole cents."""
        return None if self.estimate is None else (self.total - self.estimate).quantize(Decimal(1))

    @property
    def as_estimated(self) -> bool:
        """Whether the bill is the estimate, which is rounded to whole cents once a study; at most, of a live study."""
        if self.most is not None:
            return self.fixed is not None and self.total < self.fixed + 1
        return self.paid == self.places and self.difference is not None and abs(self.difference) < self.studies

    @property
    def explained(self) -> str:
        """Return why bill and estimate are as they are to one another."""
        if self.most is not None and self.fixed is not None:
            saved = (self.fixed - self.total).quantize(Decimal(1)) / 100
            less = f"{saved:.2f} {self.currency} below" if saved > 0 else "at the cost of"
            return f"it ended after {self.paid} of at most {self.most} places, {less} a study of fixed size"
        if self.estimate is None:
            return "there was no estimate to compare it with"
        if self.as_estimated:
            return "the bill is the estimate"
        if self.paid > self.places:
            return f"{self.paid - self.places} more were paid than places planned: people who came late"
        if self.paid < self.places:
            return f"{self.places - self.paid} places were not filled"
        return "some were paid another amount, as those screened out for a fixed sum"


def fetch_invoice(
    platform_url: str,
    token: str,
    study_ids: Iterable[str],
    *,
    estimate: int | None,
    fixed: int | None,
    most: int | None,
    currency: str,
    places: int,
) -> Invoice:
    """Ask the platform what studies have cost."""
    parts = {"rewards": Decimal(0), "fees": Decimal(0), "tax": Decimal(0)}
    bonuses, paid, asked = Decimal(0), 0, list(study_ids)
    with httpx2.Client(
        base_url=platform_url, headers={"Authorization": f"Token {token}"}, timeout=60, trust_env=False
    ) as client:
        for study_id in asked:
            cost = _get(client, f"/api/v1/studies/{study_id}/cost/")
            counts = _get(client, f"/api/v1/studies/{study_id}/submissions/counts/")
            paid += int(counts["APPROVED"]) + int(counts["PARTIALLY APPROVED"])
            for name in parts:
                parts[name] += Decimal(str(cost["rewards"][name]["amount"]))
                bonuses += Decimal(str(cost["bonuses"][name]["amount"]))
    return Invoice(
        currency=currency,
        estimate=estimate,
        fixed=fixed,
        most=most,
        bonuses=bonuses,
        places=places,
        paid=paid,
        studies=len(asked),
        **parts,
    )


def _get(client: httpx2.Client, path: str) -> Any:
    for _ in range(5):
        response = client.get(path)
        if response.status_code == 200:
            return response.json()
    raise PlatformError(f"{path}: expected the emulated platform's figures, got status {response.status_code}")
