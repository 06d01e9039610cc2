"""The tables of an endpoint.

Money is in whole cents of a US dollar, times are seconds since 1970. The column ``number`` gives each
table its order, in which lists are paged. What workers wrote is kept as bytes, so that any text survives.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.schema import SchemaItem

from spa.responses.store_schema import Verbatim

SCHEMA_VERSION = 2  # 1 had fewer indexes
OPEN = "status IN ('Accepted', 'Submitted', 'Approved', 'Rejected')"  # an assignment that takes its place in the HIT

metadata = MetaData()


def _numbered(name: str, *parts: SchemaItem) -> Table:
    return Table(name, metadata, Column("number", Integer, primary_key=True), *parts)


def _partial(name: str, *columns: str, condition: str) -> Index:
    """Return an index that lets rows that meet a condition differ."""
    return Index(name, *columns, unique=True, sqlite_where=text(condition), postgresql_where=text(condition))


meta = Table("endpoint_meta", metadata, Column("name", String, primary_key=True), Column("value", Text, nullable=False))

requesters = _numbered(
    "requesters",
    Column("requester_id", String, nullable=False, unique=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", Float, nullable=False),
    Column("held", BigInteger, nullable=False),  # cents: reward and fee of every place of a HIT that may yet be paid
    Column("spent", BigInteger, nullable=False),  # cents: what the ledger says, added up
    Column("granted", BigInteger, nullable=False),  # cents: the budget
)

access_keys = Table(
    "access_keys",
    metadata,
    Column("access_key_id", String, primary_key=True),
    Column("requester_id", ForeignKey("requesters.requester_id"), nullable=False),
    Column("created_at", Float, nullable=False),
    Column("revoked_at", Float),
)

grants = _numbered(  # what the host lets a requester spend
    "grants",
    Column("requester_id", ForeignKey("requesters.requester_id"), nullable=False),
    Column("cents", BigInteger, nullable=False),
    Column("note", Text, nullable=False),
    Column("at", Float, nullable=False),
)

workers = _numbered(
    "workers",
    Column("worker_id", String, nullable=False, unique=True),
    Column("name", Text, nullable=False),  # known to the host alone; requesters see the id
    Column("country", String),
    Column("subdivision", String),
    Column("masters", Boolean, nullable=False),
    Column("adult", Boolean, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("closed_at", Float),
)

worker_tokens = Table(  # invitations and sessions of the worker site: what a browser holds is known here by its hash
    "worker_tokens",
    metadata,
    Column("digest", String, primary_key=True),  # SHA-256 of the token, hexadecimal
    Column("worker_id", ForeignKey("workers.worker_id"), nullable=False, index=True),
    Column("purpose", String, nullable=False),  # "invitation" or "session"
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("used_at", Float),
)

hit_types = Table(
    "hit_types",
    metadata,
    Column("hit_type_id", String, primary_key=True),
    Column("group_id", String, nullable=False, unique=True),
    Column("requester_id", ForeignKey("requesters.requester_id"), nullable=False),
    Column("digest", String, nullable=False),  # of the seven properties that make a HIT type
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("keywords", Text, nullable=False),
    Column("reward", BigInteger, nullable=False),  # cents
    Column("duration", Integer, nullable=False),  # seconds
    Column("auto_approval_delay", Integer, nullable=False),  # seconds
    Column("requirements", Text, nullable=False),  # JSON, as they were sent
    Column("created_at", Float, nullable=False),
    Column("deleted_at", Float),
    UniqueConstraint("requester_id", "digest"),
)

requirement_types = Table(  # which HIT types ask for which qualification type
    "requirement_types",
    metadata,
    Column("hit_type_id", ForeignKey("hit_types.hit_type_id"), primary_key=True),
    Column("qualification_type_id", String, primary_key=True, index=True),
)

hits = _numbered(
    "hits",
    Column("hit_id", String, nullable=False, unique=True),
    Column("requester_id", ForeignKey("requesters.requester_id"), nullable=False),
    Column("hit_type_id", ForeignKey("hit_types.hit_type_id"), nullable=False),
    Column("question", Verbatim, nullable=False),
    Column("annotation", Text),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("maximum", Integer, nullable=False),  # of assignments
    Column("pending", Integer, nullable=False),  # accepted and neither submitted, returned nor abandoned
    Column("submitted", Integer, nullable=False),  # and neither approved nor rejected
    Column("completed", Integer, nullable=False),  # approved or rejected
    Column("expired", Boolean, nullable=False),
    Column("reviewing", Boolean, nullable=False),
    Column("active_at", Float, nullable=False),  # when something happened last
    Column("disposed_at", Float),
    Column("status", String, nullable=False),  # as the columns above make it
    Column("due_at", Float, index=True),  # when time will change it: expiry or disposal
    Index("hits_listed", "requester_id", "number"),
    Index("hits_in_state", "requester_id", "status", "number"),
    Index("hits_open", "status", "hit_type_id", "number", "hit_id", "expires_at"),  # lists are made from it alone
)

assignments = _numbered(
    "hit_assignments",
    Column("assignment_id", String, nullable=False, unique=True),
    Column("hit_id", ForeignKey("hits.hit_id"), nullable=False),
    Column("requester_id", String, nullable=False),
    Column("worker_id", ForeignKey("workers.worker_id"), nullable=False),
    Column("status", String, nullable=False),  # Accepted, Returned, Abandoned, Submitted, Approved, Rejected
    Column("accepted_at", Float, nullable=False),
    Column("deadline", Float, nullable=False),
    Column("turn", Integer),  # submissions of one HIT are counted from 1
    Column("submitted_at", Float),
    Column("auto_approval_at", Float),
    Column("approved_at", Float),
    Column("rejected_at", Float),
    Column("closed_at", Float),  # returned or abandoned
    Column("answer", Verbatim),  # XML
    Column("feedback", Text),
    Column("due_at", Float, index=True),  # when time will change it: deadline or automatic approval
    Index("assignments_listed", "hit_id", "turn"),
    Index("assignments_of_worker", "worker_id", "status"),
    Index("assignments_of_both", "hit_id", "worker_id", "status"),  # not the worker's whole past at each accept
    _partial("one_a_worker", "hit_id", "worker_id", condition=OPEN),
)

qualification_types = _numbered(
    "qualification_types",
    Column("qualification_type_id", String, nullable=False, unique=True),
    Column("requester_id", ForeignKey("requesters.requester_id"), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("keywords", Text),
    Column("status", String, nullable=False),  # Active, Inactive
    Column("retry_delay", Integer),  # seconds; NULL: one request only
    Column("auto_granted", Boolean, nullable=False),
    Column("auto_granted_value", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("deleted_at", Float),
)

qualifications = _numbered(
    "qualifications",
    Column("qualification_type_id", ForeignKey("qualification_types.qualification_type_id"), nullable=False),
    Column("worker_id", ForeignKey("workers.worker_id"), nullable=False, index=True),
    Column("status", String, nullable=False),  # Granted, Revoked
    Column("value", Integer),
    Column("granted_at", Float, nullable=False),
    Column("reason", Text),  # of the revocation
    UniqueConstraint("qualification_type_id", "worker_id"),
)

qualification_requests = _numbered(
    "qualification_requests",
    Column("request_id", String, nullable=False, unique=True),
    Column("qualification_type_id", ForeignKey("qualification_types.qualification_type_id"), nullable=False),
    Column("worker_id", ForeignKey("workers.worker_id"), nullable=False),
    Column("requested_at", Float, nullable=False),
    Column("status", String, nullable=False),  # Pending, Granted, Rejected
    Column("reason", Text),
    Column("answered_at", Float),
    Index("requests_of_type", "qualification_type_id", "worker_id", "number"),
)

ledger = _numbered(  # what is owed to whom by whom; rows are added, never changed
    "ledger",
    Column("kind", String, nullable=False),  # reward, bonus
    Column("requester_id", ForeignKey("requesters.requester_id"), nullable=False),
    Column("worker_id", ForeignKey("workers.worker_id"), nullable=False, index=True),
    Column("hit_id", String, nullable=False, index=True),
    Column("assignment_id", String, nullable=False, index=True),
    Column("cents", BigInteger, nullable=False),
    Column("fee", BigInteger, nullable=False),  # cents
    Column("reason", Text),
    Column("automatic", Boolean, nullable=False),  # approved by time, not by the requester
    Column("at", Float, nullable=False),
    _partial("one_reward", "assignment_id", condition="kind = 'reward'"),
)

request_tokens = Table(  # UniqueRequestToken, remembered for a day
    "request_tokens",
    metadata,
    Column("requester_id", ForeignKey("requesters.requester_id"), primary_key=True),
    Column("purpose", String, primary_key=True),  # hit, extension, bonus
    Column("token", String, primary_key=True),
    Column("made", String, nullable=False),  # the id of what the first call made
    Column("at", Float, nullable=False),
)

blocks = _numbered(
    "blocks",
    Column("requester_id", ForeignKey("requesters.requester_id"), nullable=False),
    Column("worker_id", ForeignKey("workers.worker_id"), nullable=False, index=True),
    Column("reason", Text, nullable=False),
    Column("at", Float, nullable=False),
    UniqueConstraint("requester_id", "worker_id"),
)

messages = _numbered(  # to workers, shown on their site
    "messages",
    Column("requester_id", ForeignKey("requesters.requester_id"), nullable=False),
    Column("worker_id", ForeignKey("workers.worker_id"), nullable=False, index=True),
    Column("subject", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("sent_at", Float, nullable=False),
    Column("read_at", Float),
)

notifications = Table(  # where events of a HIT type are sent
    "notifications",
    metadata,
    Column("hit_type_id", ForeignKey("hit_types.hit_type_id"), primary_key=True),
    Column("destination", Text, nullable=False),
    Column("transport", String, nullable=False),
    Column("event_types", Text, nullable=False),  # JSON
    Column("active", Boolean, nullable=False),
)

deliveries = _numbered(  # events on their way
    "deliveries",
    Column("event_id", String, nullable=False, unique=True),
    Column("requester_id", ForeignKey("requesters.requester_id"), nullable=False),
    Column("destination", Text, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Column("attempts", Integer, nullable=False),
    Column("next_at", Float, index=True),  # seconds since 1970 of this machine's clock; NULL: delivered or given up
    Column("outcome", Text),
)
