"""Who is asked: how many people, who may come, for what pay, and what they are asked beside the outputs."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from spa.records.toml_table import Ident, Text, TomlTable, added

Amount = Annotated[Decimal, Field(ge=0, le=1_000_000)]  # of money, in major units


class Screening(TomlTable):
    """A question before the study; whoever gives no eligible answer is excluded from the analysis."""

    id: Ident
    question: Text
    options: Annotated[tuple[Text, ...], Field(min_length=2)]
    eligible: Annotated[tuple[Text, ...], Field(min_length=1)]
    clip: Path | None = added(None)  # sound, film or picture that it is about, relative to the study file


class AttentionCheck(TomlTable):
    """A question with one right answer, asked of people only."""

    id: Ident
    question: Text
    options: Annotated[tuple[Text, ...], Field(min_length=2)]
    expected: Text
    clip: Path | None = added(None)  # as of a screening question: a trap, or one of known quality
    within: Annotated[int, Field(ge=0)] = added(0)  # options so many places from the expected one are right, too

    @property
    def also(self) -> tuple[str, ...]:
        """The other options that are right."""
        if self.expected not in self.options:
            return ()
        place = self.options.index(self.expected)
        near = self.options[max(0, place - self.within) : place + self.within + 1]
        return tuple(one for one in near if one != self.expected)


class InterviewQuestion(TomlTable):
    """A question that people answer in their own words, after everything else or before it."""

    id: Ident
    question: Text
    required: bool = False
    first: bool = False  # asked before the instructions, not on the last page


class PeopleGroup(TomlTable):
    """A quota: so many people whose screening answer, or whose link, puts them into this group."""

    name: Ident
    places: Annotated[int, Field(ge=1)]
    screening: Ident | None = None  # id of a [[screening]] question, or
    parameter: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")] | None = None  # of the link
    values: Annotated[tuple[Text, ...], Field(min_length=1)]  # answers, or values of the parameter, that belong here


class People(TomlTable):
    """How many annotators are planned, who may come how often, and pay per submission (major units)."""

    annotators: Annotated[int, Field(ge=1, le=1_000_000)] = 30
    pay: Amount | None = None
    minimum_hourly_pay: Amount | None = None  # warned below it; None: Prolific's, where known
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = "USD"
    minutes: Annotated[float, Field(ge=0.01, le=100_000)] | None = None  # shown; from the words where absent
    completion_code: Text | None = None  # a random one a person where absent
    completion_url: Annotated[str, StringConstraints(pattern=r"^https?://")] | None = None
    links_only: bool = False  # whether the open link is closed, and only personal links and platforms lead in
    per_assignment: Annotated[int, Field(ge=1)] = 1  # how many people answer each assignment
    minutes_allowed: Annotated[float, Field(gt=0)] | None = None  # then the place goes to somebody else
    minutes_to_begin: Annotated[float, Field(gt=0)] | None = added(None)  # first page; None: the form's, at least 15
    repeat: bool = False  # whether the same person may take part again
    sessions: Annotated[int, Field(ge=1)] = 1  # how often one person is asked, each time with another assignment
    seconds_per_100_words: Annotated[float, Field(ge=0, le=600)] = added(6.0)  # least time on screen; 0: not measured
    share_played: Annotated[float, Field(ge=0, le=1)] = added(1.0)  # of each clip, where reading is measured; 0: none
    conduct: bool = added(True)  # whether pages record, where they say so, how they are filled in
    honeypot: bool = added(False)  # a box that no person sees, for programs to tick; only where conduct is recorded
    injected: Text | None = added(None)  # a word that pages ask programs to write into free texts; likewise
    forget_after_days: Annotated[int, Field(ge=1, le=36_500)] | None = added(None)  # said with the consent text
    end_after_failed_checks: Annotated[int, Field(ge=1)] | None = None  # attention checks; None: they end nothing
    family: Ident | None = None  # studies of one family take each person once
    family_store: Text | None = None  # file or database URL that the studies of a family share
    groups: tuple[PeopleGroup, ...] = ()

    def assignments_for(self, annotators: int) -> int:
        """Return how many assignments so many people answer, in all their sessions."""
        return -(-annotators * self.sessions // self.per_assignment)
