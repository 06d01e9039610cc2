"""The tables of the store.

What outsiders sent is kept as bytes, so that null characters and lone surrogates survive any
database. ``payloads`` and ``journal`` are written before anything is read from them.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
)

SCHEMA_VERSION = 7  # stores of earlier versions are migrated, see spa.responses.store


class Verbatim(TypeDecorator[str]):
    """Text exactly as it arrived, kept as bytes."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        """Encode; a lone surrogate passes."""
        return None if value is None else to_bytes(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        """Decode what :meth:`process_bind_param` encoded."""
        return None if value is None else from_bytes(value)


def to_bytes(text: str) -> bytes:
    """Encode what an outsider sent; a lone surrogate passes."""
    return text.encode("utf-8", "surrogatepass")


def from_bytes(stored: bytes) -> str:
    """Decode what :func:`to_bytes` encoded."""
    return bytes(stored).decode("utf-8", "surrogatepass")


metadata = MetaData()

meta = Table("meta", metadata, Column("name", String, primary_key=True), Column("value", Text, nullable=False))

assignments = Table(
    "assignments",
    metadata,
    Column("assignment_id", String, primary_key=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("record", Text, nullable=False),  # canonical JSON
)

adapted = Table(  # what earlier answers of a live study changed in assignments, see spa.study.narrowing
    "adapted",
    metadata,
    Column("assignment_id", ForeignKey("assignments.assignment_id"), primary_key=True),
    Column("respondents", String, primary_key=True, server_default="people"),  # who see it so
    Column("left_out", Text),  # pairs, JSON: [[system_x, system_y], ...]; or
    Column("dealt", Text),  # in the place of the pairs drawn, JSON: [[system_x, system_y, subject], ...]
    Column("published", Boolean, nullable=False, server_default=false()),  # its form stands on a platform as it is
)

places = Table(  # apart from the assignments, which are never touched again; see spa.responses.capacity
    "places",
    metadata,
    Column("assignment_id", ForeignKey("assignments.assignment_id"), primary_key=True),
    Column("number", Integer, nullable=False),  # of the assignment
    Column("people", Integer, nullable=False, server_default="0"),  # who hold a place of it, at work or done
    Index("places_least_answered", "people", "number"),
)

blinding = Table(  # apart from the assignments, so that these can be handed out
    "blinding",
    metadata,
    Column("assignment_id", ForeignKey("assignments.assignment_id"), primary_key=True),
    Column("record", Text, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("token", String, nullable=False, unique=True),
    # made with an assignment, to be handed out; else made on arrival
    Column("personal", Boolean, nullable=False, server_default=false()),
    Column("submission_id", String, index=True),  # the visit that it opens; none before its first use
)

people = Table(  # who came from a platform, as the platform knows them: needed to pay, deleted by `spa forget`
    "people",
    metadata,
    Column("annotator_id", String, primary_key=True),
    Column("source", String, nullable=False),
    Column("external_person", String),  # NULL once forgotten
    Column("first_seen", Float, nullable=False),
)

submissions = Table(
    "submissions",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("submission_id", String, nullable=False, unique=True),
    Column("assignment_id", ForeignKey("assignments.assignment_id"), nullable=False),
    # "person 1", ... or "rater:" with id, variant and repeat: one of each an assignment. NULL: the place is given up
    Column("seat", String),
    Column("annotator_id", String, nullable=False, index=True),
    Column("annotator_kind", String, nullable=False),
    Column("source", String, nullable=False),
    Column("asked", Text),  # of a rater: how it was asked, JSON
    Column("external_id", String),  # the platform's name of the visit; none for links
    Column("session", Integer, nullable=False, server_default="1"),  # of a study in several, from 1
    Column("people_group", String),  # quota group
    Column("leased_at", Float, nullable=False),  # this and all other times: seconds since 1970
    Column("minutes_allowed", Float),
    Column("deadline", Float),  # after it the place is given to somebody else; NULL: none
    Column("released_at", Float),  # NULL while there is a place, or one is waited for
    Column("release_reason", String),
    Column("consented_at", Float),
    Column("consent_hash", String),  # SHA-256 of the text that was agreed to
    Column("outcome", String),  # NULL while open
    Column("extra", Boolean, nullable=False, server_default=false()),  # came when the place was somebody else's
    Column("completed_at", Float),  # when it ended, whatever the outcome
    Column("completion_code", String),
    Column("seconds", Float),
    UniqueConstraint("assignment_id", "seat"),
    UniqueConstraint("source", "external_id"),
    Index("submissions_overdue", "outcome", "released_at", "deadline"),
    Index("submissions_of_group", "people_group", "seat"),
)

payloads = Table(
    "payloads",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("submission_id", ForeignKey("submissions.submission_id"), nullable=False, index=True),
    Column("page_id", String, nullable=False),
    Column("body", Verbatim, nullable=False),
    Column("received_at", Float, nullable=False),
)

answers = Table(
    "answers",
    metadata,
    Column("submission", ForeignKey("submissions.number"), primary_key=True),
    Column("place", Integer, primary_key=True),  # in the order of the form
    Column("question_id", String, nullable=False),
    Column("target", Text, nullable=False),  # JSON
    Column("raw", Verbatim),
    Column("number", Float),  # the value of a response: a number ...
    Column("choice", Text),  # ... or the chosen option
    Column("missing_reason", Verbatim),  # in its stead, for a missing answer
    Column("missing_level", Text),  # what that would have been, where it is known
    Column("readings_differ", Boolean),  # whether another way of reading an LLM's reply gives another answer
)

journal = Table(  # see spa.journal
    "journal",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("kind", String, nullable=False),
    Column("scope", String, nullable=False),
    Column("key", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("begun_at", Float, nullable=False),  # seconds since 1970
    Column("outcome", Text, nullable=False),
    Column("finished_at", Float),
    Column("facts", Text, nullable=False),  # JSON
    Column("request", Verbatim, nullable=False),  # the two long ones come last: who counts calls reads none of them
    Column("response", Verbatim),
    UniqueConstraint("kind", "scope", "key", "attempt"),
)

decisions = Table(  # of reviewers; only ever added to, see spa.responses.decisions
    "decisions",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("submission_id", ForeignKey("submissions.submission_id"), nullable=False, index=True),
    Column("action", String, nullable=False),
    Column("reviewer", Verbatim, nullable=False),
    Column("decided_at", Float, nullable=False),  # seconds since 1970
    Column("rule", Verbatim),
    Column("note", Verbatim),
    Column("amount", String),  # decimal in major units of the study's currency
    Column("undoes", Integer),  # number of the decision taken back
)
