"""Tables of a study's HITs and their submissions, in the store of the study.

They have the store's own annotator ids; the endpoint is asked for worker ids when somebody has to be paid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
    insert,
    or_,
    select,
    update,
)

from spa.responses.outcomes import claimed_name
from spa.responses.store import Store
from spa.responses.store_schema import Verbatim, people

SOURCE = "mturk"  # of visits, in the store
SUBMITTED, APPROVED, REJECTED = "Submitted", "Approved", "Rejected"  # AssignmentStatus
STATUSES = [SUBMITTED, APPROVED, REJECTED]

metadata = MetaData()

hits = Table(
    "mturk_hits",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("hit_id", String, nullable=False, unique=True),
    Column("hit_type_id", String, nullable=False),
    Column("endpoint", String, nullable=False),
    Column("key", String, nullable=False),  # of the journal: which seats of the study this HIT offers
    Column("assignment_id", String),  # the form that stands in the HIT; NULL where the survey server hands forms out
    Column("sites", Text, nullable=False),  # origins that answers may be posted to, a space between
    Column("max_assignments", Integer, nullable=False),
    Column("reward", String, nullable=False),  # dollars
    Column("fee", String, nullable=False),  # dollars for one assignment
    Column("question_bytes", Integer, nullable=False),
    Column("created_at", Float, nullable=False),  # seconds since 1970
    Column("expires_at", Float, nullable=False),
    Column("archived_assignments", Integer, nullable=False, default=0),  # how many stand in the last archive
    Column("archived_at", Float),
    Column("disposed_at", Float),
    UniqueConstraint("endpoint", "key"),
)

works = Table(  # the protocol calls them assignments, which here are the questionnaires
    "mturk_assignments",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("mturk_assignment_id", String, nullable=False, unique=True),
    Column("hit_id", String, nullable=False, index=True),
    Column("annotator_id", String, nullable=False, index=True),
    Column("submission_id", String),  # NULL where nothing of the study could be filled in
    Column("status", String, nullable=False),  # Submitted, Approved, Rejected
    Column("accepted_at", Float),
    Column("submitted_at", Float),
    Column("auto_approval_at", Float),
    Column("reviewed_at", Float),
    Column("answer", Verbatim, nullable=False),  # XML as it came
    Column("feedback", Text),
    Column("problem", Text),  # why nobody should approve it unseen; NULL where there is nothing
    Column("excluded", Boolean, nullable=False, default=False),  # the person is kept from the study's other HITs
)


claims = Table(  # of frames that show the survey server: what their addresses say, which anybody can invent
    "mturk_claims",
    metadata,
    Column("claim", String, primary_key=True),  # external_id of the visit until its submission is collected
    Column("mturk_assignment_id", String, nullable=False, index=True),
    Column("hit_id", String, nullable=False),
    Column("submit_to", String, nullable=False),  # where the HIT is handed in
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedHit:
    """A HIT that was published."""

    number: int
    hit_id: str
    hit_type_id: str
    endpoint: str
    key: str
    assignment_id: str | None
    sites: str
    max_assignments: int
    reward: str
    fee: str
    question_bytes: int
    created_at: float
    expires_at: float
    archived_assignments: int
    archived_at: float | None
    disposed_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The submission of one annotator for one HIT, the protocol's assignment. Times in seconds since 1970."""

    number: int
    mturk_assignment_id: str
    hit_id: str
    annotator_id: str
    submission_id: str | None
    status: str
    accepted_at: float | None
    submitted_at: float | None
    auto_approval_at: float | None
    reviewed_at: float | None
    answer: str
    feedback: str | None
    problem: str | None
    excluded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HitUrlParameters:
    """The parameters in the URL of a frame, which anybody can invent."""

    claim: str
    mturk_assignment_id: str
    hit_id: str
    submit_to: str


def set_up(store: Store) -> None:
    """Create the tables that a store does not have yet."""
    with store.transaction() as connection:
        metadata.create_all(connection)


def add_hit(connection: Connection, **values: Any) -> None:
    """Record a published HIT; idempotent."""
    if connection.scalar(select(hits.c.number).where(hits.c.hit_id == values["hit_id"])) is None:
        connection.execute(insert(hits).values(archived_assignments=0, **values))


def change_hit(connection: Connection, hit_id: str, **values: Any) -> None:
    """Change the record of a HIT."""
    connection.execute(update(hits).where(hits.c.hit_id == hit_id).values(**values))


def all_hits(store: Store, endpoint: str) -> tuple[PublishedHit, ...]:
    """Return the HITs published at an endpoint, the oldest first."""
    query = select(hits).where(hits.c.endpoint == endpoint).order_by(hits.c.number)
    with store.reading() as connection:
        return tuple(PublishedHit(**row._mapping) for row in connection.execute(query))


def find_hit(store: Store, hit_id: str) -> PublishedHit | None:
    """Return a HIT by its id at the endpoint."""
    with store.reading() as connection:
        row = connection.execute(select(hits).where(hits.c.hit_id == hit_id)).first()
    return None if row is None else PublishedHit(**row._mapping)


def sites(store: Store) -> tuple[str, ...]:
    """Return the sites at which the study's HITs are shown and submitted."""
    with store.reading() as connection:
        found = connection.scalars(select(hits.c.sites).distinct().order_by(hits.c.sites))
        return tuple(dict.fromkeys(site for one in found for site in one.split()))


def note_claim(store: Store, claim: HitUrlParameters) -> None:
    """Record the parameters of a frame's URL; repeats are ignored."""
    if find_claim(store, claim.claim) is not None:
        return
    with store.transaction() as connection:
        if connection.execute(_claims(claim.claim)).first() is None:
            connection.execute(insert(claims).values(asdict(claim)))


def find_claim(store: Store, external_id: str) -> HitUrlParameters | None:
    """Return the recorded parameters of a frame's URL, by the claim or the assignment."""
    with store.reading() as connection:
        row = connection.execute(_claims(external_id)).first()
    return None if row is None else HitUrlParameters(**row._mapping)


def claims_at(store: Store, endpoint: str) -> set[str]:
    """Return the claims on assignments of an endpoint's HITs."""
    query = select(claims.c.claim).join(hits, hits.c.hit_id == claims.c.hit_id).where(hits.c.endpoint == endpoint)
    with store.reading() as connection:
        return set(connection.scalars(query))


def _claims(external_id: str) -> Select[Any]:
    return select(claims).where(or_(claims.c.claim == external_id, claims.c.mturk_assignment_id == external_id))


def add_work(connection: Connection, **values: Any) -> None:
    """Record a submission."""
    connection.execute(insert(works).values(**values))


def change_work(connection: Connection, mturk_assignment_id: str, **values: Any) -> None:
    """Change the record of a submission."""
    connection.execute(update(works).where(works.c.mturk_assignment_id == mturk_assignment_id).values(**values))


def known_works(store: Store, hit_id: str) -> dict[str, Work]:
    """Return the submissions of a HIT by assignment id."""
    query = select(works).where(works.c.hit_id == hit_id).order_by(works.c.number)
    with store.reading() as connection:
        return {row.mturk_assignment_id: Work(**row._mapping) for row in connection.execute(query)}


def all_works(store: Store, endpoint: str, *, statuses: Iterable[str] | None = None) -> Iterator[Work]:
    """Yield the submissions at an endpoint, with a few hundred in memory at a time."""
    query = select(works).join(hits, hits.c.hit_id == works.c.hit_id).where(hits.c.endpoint == endpoint)
    if statuses is not None:
        query = query.where(works.c.status.in_(list(statuses)))
    for row in store.stream(query.order_by(works.c.number)):
        yield Work(**row._mapping)


def find_work(store: Store, mturk_assignment_id: str) -> Work | None:
    """Return a submission by assignment id."""
    with store.reading() as connection:
        row = connection.execute(select(works).where(works.c.mturk_assignment_id == mturk_assignment_id)).first()
    return None if row is None else Work(**row._mapping)


def worker_ids(store: Store) -> dict[str, str]:
    """Return the worker ids of annotators who are not forgotten, by annotator id."""
    query = select(people.c.annotator_id, people.c.external_person).where(people.c.source == "mturk")
    with store.reading() as connection:
        return {row.annotator_id: row.external_person for row in connection.execute(query) if row.external_person}


def has_worked(connection: Connection, annotator_id: str, endpoint: str) -> bool:
    """Return whether an annotator has submitted a HIT of this endpoint."""
    query = select(works.c.number).join(hits, hits.c.hit_id == works.c.hit_id)
    own = works.c.annotator_id == annotator_id, hits.c.endpoint == endpoint
    return connection.scalar(query.where(*own).limit(1)) is not None


def unmarked_hits(store: Store, endpoint: str) -> tuple[str, ...]:
    """Return the HITs with submissions whose annotators are not excluded from the other HITs yet."""
    query = select(works.c.hit_id).join(hits, hits.c.hit_id == works.c.hit_id).distinct()
    with store.reading() as connection:
        return tuple(connection.scalars(query.where(hits.c.endpoint == endpoint, works.c.excluded.is_(False))))


def counts(store: Store, endpoint: str) -> Mapping[str, Mapping[str, int]]:
    """Count the submissions of each HIT by status: hit id -> status -> count."""
    query = (
        select(works.c.hit_id, works.c.status, func.count().label("n"))
        .join(hits, hits.c.hit_id == works.c.hit_id)
        .where(hits.c.endpoint == endpoint)
        .group_by(works.c.hit_id, works.c.status)
    )
    found: dict[str, dict[str, int]] = {}
    with store.reading() as connection:
        for row in connection.execute(query):
            found.setdefault(row.hit_id, {})[row.status] = row.n
    return found


RECEIPT_FIELD = "spa_receipt"


def make_receipt(store: Store, submission_id: str) -> str:
    """Return the receipt of a visit, which cannot be forged without the store."""
    return store.keyed(f"receipt of {submission_id}")


def claim_name(store: Store, mturk_assignment_id: str, worker_id: str) -> str:
    """Return the external id of a visit by somebody who claims to be this worker with this assignment."""
    return claimed_name(store.keyed(f"{mturk_assignment_id} {worker_id}"))
