"""Settings of the emulated platform: delays, fees, and behaviour that is unusual or not verified."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from prolific.emulator.errors import ErrorForm

Percent = Annotated[Decimal, Field(ge=0, le=100)]
Cents = Annotated[int, Field(ge=0)]


class Behaviour(BaseModel):
    """How the emulated platform behaves; every field can be changed while it runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # work that is done after the answer: publishing, bulk approval, paying a bonus
    lag_seconds: float = Field(default=5.0, ge=0, le=86_400)
    lag_requests: int = Field(default=2, ge=0, le=10_000)  # or after that many further requests, whichever comes first

    # tariff
    fee_percent: Percent = Decimal(100) / Decimal(3)  # of every reward and bonus
    vat_percent: Percent = Decimal(0)  # of the fee
    minimum_hourly: Cents = 800
    recommended_hourly: Cents = 1200

    # rules that are not verified
    late_code_accepted: bool = True  # a code entered after TIMED-OUT leads to AWAITING REVIEW
    researcher_may_unreject: bool = True
    mixed_bulk_approval_refused: bool = True  # study_id together with submission_ids
    largest_page: int = Field(default=1000, ge=1)
    both_ways_of_paging: bool = True  # limit and offset as well as page and page_size, on every list
    past_the_end_is_404: bool = True
    reservation_seconds: float = Field(default=600.0, gt=0)
    automatic_approval_days: float = Field(default=21.0, gt=0)
    public_https_required: bool = False  # also for this machine's own address

    # oddities that others met
    processing_status: bool = False  # submissions are PROCESSING for a moment after a code was entered
    awaiting_review_when_full: bool = False  # although some of the people are still working
    deleted_groups_look_alive: bool = False
    eligible_counts_cached: bool = False
    screen_out_endpoint: bool = False  # POST studies/{id}/screen-out-submissions/, outside the published description

    # form of errors, and lag of lists
    error_form: ErrorForm = "documented"
    list_lag_requests: int = Field(default=0, ge=0)  # a new submission is missing from lists for so many requests
