"""Request bodies of studies, validated by the platform's rules."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
DAY = 24 * 60  # minutes
LABELS = Literal[
    "survey", "writing_task", "annotation", "decision_making_task", "interview", "other", "ai_annotation",
    "ai_evaluation", "ai_reasoning", "ai_fact_checking", "ai_safety", "ai_data_creation_text",
    "ai_data_creation_audio", "ai_data_creation_video", "ai_data_creation_images", "ai_other",
]  # fmt: skip
CODE_TYPES = Literal[
    "COMPLETED", "FAILED_ATTENTION_CHECK", "FOLLOW_UP_STUDY", "GIVE_BONUS", "INCOMPATIBLE_DEVICE", "NO_CONSENT",
    "OTHER", "FIXED_SCREENOUT",
]  # fmt: skip
BESIDE = {
    "ADD_TO_PARTICIPANT_GROUP": {"participant_group"},
    "REMOVE_FROM_PARTICIPANT_GROUP": {"participant_group"},
    "FIXED_SCREEN_OUT_PAYMENT": {"fixed_screen_out_reward", "slots"},
    "REQUEST_RETURN": {"return_reason"},
}
Number = StrictInt | StrictFloat


def _whole(value: Any) -> Any:
    """Accept 30.0 for 30: the description says "number", but cents and places are whole."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise ValueError("expected a whole number")
    return int(value)


Whole = Annotated[int, BeforeValidator(_whole)]


class RequestBody(BaseModel):
    """A request body, in which unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class Action(RequestBody):
    """An action that follows when a code is entered."""

    action: Literal[
        "AUTOMATICALLY_APPROVE",
        "ADD_TO_PARTICIPANT_GROUP",
        "REMOVE_FROM_PARTICIPANT_GROUP",
        "MANUALLY_REVIEW",
        "DYNAMIC_PAYMENT",
        "FIXED_SCREEN_OUT_PAYMENT",
        "REQUEST_RETURN",
    ]
    participant_group: StrictStr | None = None
    return_reason: StrictStr | None = None
    fixed_screen_out_reward: Annotated[int | None, Field(ge=10)] = None
    slots: Annotated[int | None, Field(ge=1)] = None

    @model_validator(mode="after")
    def _complete(self) -> Action:
        required = BESIDE.get(self.action, set())
        given = {name for name, value in self if name != "action" and value is not None}
        if given != required:
            names = ", ".join(sorted(required)) or "nothing"
            raise ValueError(f"{self.action} wants {names} beside it, got {', '.join(sorted(given)) or 'nothing'}")
        return self


class CompletionCode(RequestBody):
    """A completion code, its type and its actions."""

    code: StrictStr | None = Field(max_length=255)
    code_type: CODE_TYPES
    actions: list[Action]
    actor: Literal["participant", "researcher"] = "participant"

    @model_validator(mode="after")
    def _sensible(self) -> CompletionCode:
        kinds = [action.action for action in self.actions]
        if "AUTOMATICALLY_APPROVE" in kinds and "MANUALLY_REVIEW" in kinds:
            raise ValueError("AUTOMATICALLY_APPROVE and MANUALLY_REVIEW exclude each other")
        if "DYNAMIC_PAYMENT" in kinds and self.actor != "researcher":
            raise ValueError("DYNAMIC_PAYMENT wants the actor researcher")
        return self


class Range(RequestBody):
    """A selected range, including both ends."""

    lower: Number | StrictStr | None = None
    upper: Number | StrictStr | None = None


class SelectedFilter(RequestBody):
    """A filter with the selected values or range."""

    filter_id: StrictStr
    selected_values: list[StrictStr] | None = None
    selected_range: Range | None = None
    weightings: Any = None

    @model_validator(mode="after")
    def _one_selection(self) -> SelectedFilter:
        if (self.selected_values is None) == (self.selected_range is None):
            raise ValueError("expected selected_values or selected_range, and one of them only")
        return self


class SubmissionsConfig(RequestBody):
    """How often a participant may take part."""

    max_submissions_per_participant: Whole | None = 1
    max_concurrent_submissions: Whole | None = -1
    auto_rejection_categories: list[Literal["EXCEPTIONALLY_FAST"]] = []

    @field_validator("max_submissions_per_participant")
    @classmethod
    def _more_than_none(cls, value: int | None) -> int | None:
        if value is not None and value != -1 and value < 1:
            raise ValueError("expected 1 or more, or -1")
        return value


class AccessDetail(RequestBody):
    """One of several URLs of a study, and its places."""

    external_url: StrictStr
    total_allocation: Annotated[Whole, Field(ge=1)]


class StudyBody(RequestBody):
    """The body of a study."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=500)]
    internal_name: StrictStr | None = None
    description: Annotated[StrictStr, Field(min_length=1)]
    external_study_url: StrictStr | None = None
    access_details: list[AccessDetail] | None = None
    prolific_id_option: Literal["question", "url_parameters", "not_required"]
    completion_codes: Annotated[list[CompletionCode], Field(min_length=1)]
    total_available_places: Annotated[Whole, Field(ge=1)]
    estimated_completion_time: Annotated[Number, Field(ge=1)]
    maximum_allowed_time: Annotated[Number | None, Field(gt=0)] = None
    reward: Annotated[Whole, Field(ge=0)]
    device_compatibility: list[Literal["desktop", "tablet", "mobile"]] = []
    peripheral_requirements: list[Literal["audio", "camera", "download", "microphone"]] = []
    filters: list[SelectedFilter] | None = []
    project: StrictStr | None = None
    submissions_config: SubmissionsConfig = SubmissionsConfig()
    study_type: Literal["SINGLE", "QUOTA"] = "SINGLE"
    study_labels: Annotated[list[LABELS], Field(max_length=1)] = []
    content_warnings: Annotated[list[Literal["sensitive", "explicit"]], Field(max_length=1)] = []
    content_warning_details: Annotated[StrictStr | None, Field(max_length=1000)] = None
    metadata: StrictStr | None = None
    is_external_study_url_secure: Literal[False] = False

    @model_validator(mode="after")
    def _whole_study(self) -> StudyBody:
        self._check_addresses()
        self._check_codes()
        self._check_time()
        return self

    def _check_addresses(self) -> None:
        if (self.external_study_url is None) == (self.access_details is None):
            raise ValueError("expected external_study_url or access_details, and one of them only")
        if self.access_details is not None:
            places = sum(one.total_allocation for one in self.access_details)
            if places != self.total_available_places:
                total = self.total_available_places
                raise ValueError(
                    f"the allocations of access_details add up to {places}, total_available_places is {total}"
                )
        for url in self.addresses():
            check_https(url)

    def addresses(self) -> list[str]:
        """Return the study's addresses."""
        if self.external_study_url is not None:
            return [self.external_study_url]
        return [one.external_url for one in self.access_details or []]

    def _check_codes(self) -> None:
        codes = [one.code for one in self.completion_codes]
        if len(set(codes)) != len(codes):
            raise ValueError("completion_codes: expected codes that differ from each other")
        own = [one for one in self.completion_codes if one.actor == "participant"]
        if None in codes and (len(own) != 1 or own[0].code is not None or own[0].actions):
            raise ValueError("completion_codes: a code of null is for a single participant code without actions")
        for one in self.completion_codes:
            for action in one.actions:
                if action.fixed_screen_out_reward is not None and action.fixed_screen_out_reward >= self.reward:
                    raise ValueError("completion_codes: fixed_screen_out_reward must be less than the reward")

    def _check_time(self) -> None:
        least = least_maximum(self.estimated_completion_time)
        if self.maximum_allowed_time is None:
            self.maximum_allowed_time = DAY - 1
        if self.maximum_allowed_time < least:
            raise ValueError(
                f"maximum_allowed_time: expected {least:.1f} minutes or more, got {self.maximum_allowed_time}"
            )
        if self.maximum_allowed_time >= DAY:
            raise ValueError(f"maximum_allowed_time: expected less than {DAY} minutes, got {self.maximum_allowed_time}")


class OpenStudyBody(RequestBody):
    """Fields that can be changed in a published study."""

    internal_name: StrictStr | None = None
    total_available_places: Annotated[Whole | None, Field(ge=1)] = None
    access_details: list[AccessDetail] | None = None
    submissions_config: SubmissionsConfig | None = None
    reward: Annotated[Whole | None, Field(ge=0)] = None


def least_maximum(estimated_minutes: float) -> float:
    """Return the shortest allowed time limit, in minutes, for an estimated time.

    >>> round(least_maximum(10), 1)
    28.3
    """
    return 2 + 2 * estimated_minutes + 2 * math.sqrt(estimated_minutes)


def check_https(url: str, *, loopback: bool = True) -> None:
    """Refuse a URL that is not public https, except, for rehearsals, one on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise ValueError(f"{url}: not a valid URL") from None
    if parts.scheme == "https" and "." in host:
        return
    if loopback and parts.scheme in ("http", "https") and host in LOOPBACK:
        return
    raise ValueError(f"{url}: expected a valid https URL")
