"""The table ``[prolific]`` of a study file: every key with its default, so this is also its reference."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from spa.errors import StudyError
from spa.platforms.study_table import read_study_table
from spa.records.toml_table import Text, TomlTable

Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{24}$")]
Amount = Annotated[Decimal, Field(gt=0, max_digits=9, decimal_places=2)]
Share = Annotated[float, Field(ge=0, le=100)]
Label = Literal[
    "survey", "writing_task", "annotation", "decision_making_task", "interview", "other", "ai_annotation",
    "ai_evaluation", "ai_reasoning", "ai_fact_checking", "ai_safety", "ai_data_creation_text",
    "ai_data_creation_audio", "ai_data_creation_video", "ai_data_creation_images", "ai_other",
]  # fmt: skip


class Screeners(TomlTable):
    """Who may take part, by the properties that studies ask for most; names are those that Prolific shows."""

    fluent_languages: tuple[Text, ...] = ()
    first_language: tuple[Text, ...] = ()
    country: tuple[Text, ...] = ()  # of residence
    education: tuple[Text, ...] = ()  # highest level completed
    subject: tuple[Text, ...] = ()  # of the degree
    approval_rate: Share | None = None  # percent, at least
    submissions: Annotated[int, Field(ge=0)] | None = None  # earlier ones, at least
    age: Annotated[tuple[int, int], Field()] | None = None  # from, to


class NamedFilter(TomlTable):
    """Any other property: its title on Prolific, and either choices by name or a range."""

    name: Text
    choices: tuple[Text, ...] = ()
    lowest: float | str | None = None
    highest: float | str | None = None


class OutcomeCode(TomlTable):
    """What happens on Prolific when somebody comes back with the code of an outcome."""

    action: Literal["review", "approve", "return", "pay"]  # pay: a fixed sum for those screened out
    reason: Text | None = None  # shown to somebody who is asked to return the submission
    reward: Amount | None = None  # of "pay", in major units
    slots: Annotated[int, Field(ge=1)] | None = None  # of "pay": how many; then the study pauses


class OutcomeCodes(TomlTable):
    """The outcomes, each with a random code of its own."""

    completed: OutcomeCode = OutcomeCode(action="review")
    screened_out: OutcomeCode = OutcomeCode(
        action="return", reason="You are not among the people whom this study asks."
    )
    no_consent: OutcomeCode = OutcomeCode(action="return", reason="You did not agree to take part.")
    failed_checks: OutcomeCode = OutcomeCode(action="review")
    quota_full: OutcomeCode = OutcomeCode(action="return", reason="All places for your group of people are taken.")


class ProlificTable(TomlTable):
    """How a study is offered on Prolific. Amounts are in major units of ``[people] currency``."""

    project: Hex  # the last part of the project's address
    description: Text  # HTML: b i em strong s u h1 h2 ol ul li p
    public_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s?#]+$")] | None = None  # of `spa serve`
    title: Text | None = None  # the study's where absent
    reward: Amount | None = None  # [people] pay where absent
    places: Annotated[int, Field(ge=1)] | None = None  # [people] annotators where absent
    minutes: Annotated[float, Field(ge=1)] | None = None  # [people] minutes where absent
    maximum_minutes: Annotated[float, Field(gt=0, lt=1440)] | None = None  # the least that Prolific allows
    devices: tuple[Literal["desktop", "tablet", "mobile"], ...] = ()  # all where empty
    peripherals: tuple[Literal["audio", "camera", "download", "microphone"], ...] = ()
    label: Label = "ai_evaluation"
    content_warning: Literal["sensitive", "explicit"] | None = None
    content_warning_details: Annotated[str, StringConstraints(max_length=1000)] | None = None
    group: Text | None = None  # participant group of the study family: all who came are in it and are left out
    exclude_earlier: bool = True  # leave out who is in the group
    exclude_studies: tuple[Hex, ...] = ()  # of the same project; read by Prolific when the study is published
    only_groups: tuple[Text, ...] = ()  # names of participant groups: only these people
    exclude_groups: tuple[Text, ...] = ()  # names of participant groups: not these people
    screeners: Screeners = Screeners()
    filters: tuple[NamedFilter, ...] = ()
    codes: OutcomeCodes = OutcomeCodes()
    taskflow: bool = False  # an address and places for each of [[people.groups]]
    completion_bonus_percent: Annotated[float, Field(gt=0, le=100)] | None = None  # for who did all sessions
    fee_percent: Annotated[float, Field(ge=0, le=200)] | None = None  # for estimates without the platform only
    bonus_cap: Amount | None = None  # most that one bonus may be; the reward where absent
    webhooks: bool = True  # take the platform's events at /prolific/hooks


def read_table(raw: Mapping[str, Any], file: str) -> ProlificTable:
    """Check the table ``[prolific]`` of a study file.

    Raises
    ------
    StudyError
        With every mistake, one line each.
    """
    if not raw:
        raise StudyError(f"{file}: expected a table [prolific] with at least project and description, got none")
    keys = "the keys are listed in docs/prolific.md"
    table = read_study_table(ProlificTable, raw, name="prolific", file=file, keys=keys)
    problems = list(_contradictions(table))
    if problems:
        raise StudyError(*(f"{file}: {problem}" for problem in problems))
    return table


def _contradictions(table: ProlificTable) -> list[str]:
    found = []
    for outcome in OutcomeCodes.model_fields:
        code: OutcomeCode = getattr(table.codes, outcome)
        place = f"[prolific.codes.{outcome}]"
        if (code.action == "pay") != (code.reward is not None and code.slots is not None):
            found.append(f'{place}: reward and slots go together with action = "pay"; give all three or none')
        if code.action == "pay" and outcome == "completed":
            found.append(f'{place}: expected action "review" or "approve", got "pay"; who completes is paid the reward')
        if code.action == "return" and outcome == "completed":
            found.append(f'{place}: expected action "review" or "approve", got "return"')
        if code.action == "return" and not code.reason:
            found.append(f'{place}: action = "return" needs a reason, which the participant reads')
    for entry in table.filters:
        if bool(entry.choices) == (entry.lowest is not None or entry.highest is not None):
            found.append(
                f"[[prolific.filters]] {entry.name!r}: expected choices, or lowest and highest; give one of these"
            )
    if table.screeners.age is not None and table.screeners.age[0] > table.screeners.age[1]:
        found.append(f"[prolific.screeners] age: expected from and to, got {list(table.screeners.age)}")
    if table.content_warning_details is not None and table.content_warning is None:
        found.append("[prolific] content_warning_details: requires content_warning")
    return found
