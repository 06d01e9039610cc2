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
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

SCHEMA_VERSION = "2"


class Verbatim(TypeDecorator[str]):
    """Text exactly as it arrived, kept as bytes."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        """Encode; a lone surrogate passes."""
        return None if value is None else value.encode("utf-8", "surrogatepass")

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        """Decode what :meth:`process_bind_param` encoded."""
        return None if value is None else bytes(value).decode("utf-8", "surrogatepass")


metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
)

assignments = Table(
    "assignments",
    metadata,
    Column("assignment_id", String, primary_key=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("record", Text, nullable=False),  # canonical JSON
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
    Column("personal", Boolean, nullable=False),  # made with an assignment, to be handed out; else made at the door
)

submissions = Table(
    "submissions",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("submission_id", String, nullable=False, unique=True),
    Column("assignment_id", ForeignKey("assignments.assignment_id"), nullable=False),
    Column("seat", String, nullable=False),  # "person", or a rater's id, variant and repeat: one of each an assignment
    Column("annotator_id", String, nullable=False, index=True),
    Column("annotator_kind", String, nullable=False),
    Column("source", String, nullable=False),
    Column("asked", Text),  # of a rater: how it was asked, JSON
    Column("leased_at", Float, nullable=False),  # seconds since 1970
    Column("completed_at", Float),
    Column("completion_code", String),
    Column("seconds", Float),
    UniqueConstraint("assignment_id", "seat"),
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
)

journal = Table(  # see spa.journal
    "journal",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("kind", String, nullable=False),
    Column("scope", String, nullable=False),
    Column("key", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("request", Verbatim, nullable=False),
    Column("begun_at", Float, nullable=False),  # seconds since 1970
    Column("outcome", Text, nullable=False),
    Column("response", Verbatim),
    Column("finished_at", Float),
    Column("facts", Text, nullable=False),  # JSON
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
