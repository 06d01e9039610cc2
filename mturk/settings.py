"""The table ``[mturk]`` of a study file: the text of a HIT, who may take it, and how long it is listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from mturk.fees import FeeRules
from spa.forms.effort import minutes_of
from spa.platforms.study_table import read_study_table
from spa.records import form as form_module
from spa.records.study import Study
from spa.records.toml_table import Text, TomlTable

Form = Literal["auto", "html", "external"]
Guard = Literal["Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept"]
Comparator = Literal[
    "LessThan", "LessThanOrEqualTo", "GreaterThan", "GreaterThanOrEqualTo", "EqualTo", "NotEqualTo", "Exists",
    "DoesNotExist", "In", "NotIn",
]  # fmt: skip
WITHOUT_VALUE = ("Exists", "DoesNotExist")
MOST_VALUES = 15  # of In and NotIn
MOST_COUNTRIES = 30
MOST_OWN = 5  # requirements of the study's own: ten in all, and the rest are needed for what stands above them
LEAST_MINUTES = 60.0  # allowed for a form, however short it is
SLACK = 4  # times the estimated minutes that a form may take
LEAST_APPROVED = 100  # an annotator with fewer submissions has an approval rate of 100 %, whatever they did
Place = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}(-[A-Z]{2})?$")]  # "US" or "US-CA"
Address = Annotated[str, StringConstraints(pattern=r"^https?://[^/?#\s@]+$")]  # an origin, without a path
Hours = Annotated[float, Field(gt=0, le=24 * 365)]


class Qualification(TomlTable):
    """A requirement on a qualification type of the endpoint."""

    id: Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]{1,64}$")]
    comparator: Comparator
    values: Annotated[tuple[int, ...], Field(max_length=MOST_VALUES)] = ()
    guard: Guard = "Accept"

    @model_validator(mode="after")
    def _values_fit(self) -> Self:
        if self.comparator in WITHOUT_VALUE and self.values:
            raise ValueError(f"{self.comparator} takes no values; leave values out")
        if self.comparator in ("In", "NotIn") and not self.values:
            raise ValueError(f"{self.comparator} needs values")
        if self.comparator not in (*WITHOUT_VALUE, "In", "NotIn") and len(self.values) != 1:
            raise ValueError(f"{self.comparator} needs one value, got {len(self.values)}")
        return self


class MTurkTable(TomlTable):
    """Every key of ``[mturk]`` with its default."""

    title: Annotated[Text, StringConstraints(max_length=128)] | None = None  # the study's where absent
    description: Annotated[Text, StringConstraints(max_length=2000)] = "Read texts or look at images and compare them."
    keywords: Annotated[tuple[Text, ...], Field(max_length=50)] = ("reading", "comparison", "research")
    form: Form = (
        "auto"  # html: the form is in the HIT; external: the HIT shows the survey server; auto: html if it fits
    )
    public_url: Annotated[str, StringConstraints(pattern=r"^https?://[^?#\s@]+$")] | None = None  # of the survey server
    worker_sites: tuple[Address, ...] = ()  # origins that answers may be posted to, beside the endpoint's own
    lifetime_hours: Hours = 168.0
    minutes_allowed: Annotated[float, Field(ge=0.5, le=525_600)] | None = None  # four times the estimate, at least 60
    auto_approval_hours: Annotated[float, Field(ge=0, le=720)] = 168.0  # 0 pays at once and leaves nothing to reject
    fees: FeeRules = "mturk"  # none: an endpoint that takes nothing for itself
    masters: bool = False
    countries: Annotated[tuple[Place, ...], Field(max_length=MOST_COUNTRIES)] = ()
    approval_rate: Annotated[int, Field(ge=0, le=100)] | None = None  # percent, at least
    approved_hits: Annotated[int, Field(ge=0)] | None = None  # at least; with approval_rate 100 where absent
    adult: bool = False
    qualifications: Annotated[tuple[Qualification, ...], Field(max_length=MOST_OWN)] = ()

    @model_validator(mode="after")
    def _rate_means_something(self) -> Self:
        if self.approval_rate is not None and self.approved_hits is not None and self.approved_hits < LEAST_APPROVED:
            raise ValueError(
                f"approval_rate needs approved_hits of {LEAST_APPROVED} or more, because a rate is 100 below that"
            )
        if len(",".join(self.keywords)) > 1000:
            raise ValueError("keywords have more than 1000 characters together")
        return self

    @property
    def least_approved(self) -> int | None:
        """How many approved HITs an annotator needs; ``None`` where it does not matter."""
        if self.approved_hits is None and self.approval_rate is not None:
            return LEAST_APPROVED
        return self.approved_hits


def minutes_allowed(study: Study, settings: MTurkTable, form: form_module.Form) -> float:
    """Return how long an annotator may hold an assignment."""
    return settings.minutes_allowed or max(LEAST_MINUTES, SLACK * minutes_of(study, form))


def read_settings(raw: Mapping[str, Any], file: str) -> MTurkTable:
    """Check the table ``[mturk]`` of a study file; without one every key has its default.

    Raises
    ------
    StudyError
        With every mistake, one line each.
    """
    known = f"known: {', '.join(MTurkTable.model_fields)}"
    return read_study_table(MTurkTable, raw, name="mturk", file=file, keys=known)
