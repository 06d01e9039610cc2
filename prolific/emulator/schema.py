"""The tables of an emulated platform. Times are seconds since 1970, amounts whole cents."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, Integer, MetaData, Table, Text

metadata = MetaData()


def _numbered(name: str, *columns: Column[Any] | Index) -> Table:
    """Return a table whose rows are listed by ``number``, in the order of creation."""
    return Table(name, metadata, Column("number", Integer, primary_key=True), *columns)


def _with_id(name: str, *columns: Column[Any] | Index) -> Table:
    return _numbered(name, Column("id", Text, nullable=False, unique=True), *columns)


def _of_workspace() -> Column[str]:
    return Column("workspace_id", Text, ForeignKey("workspaces.id"), nullable=False)


settings = Table("settings", metadata, Column("name", Text, primary_key=True), Column("value", JSON, nullable=False))

workspaces = _with_id(
    "workspaces",
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False, default=""),
    Column("currency", Text, nullable=False),
    Column("paid_in", Integer, nullable=False),  # cents that were ever paid into the wallet
)

projects = _with_id(
    "projects",
    _of_workspace(),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False, default=""),
)

studies = _with_id(
    "studies",
    Column("project_id", Text, ForeignKey("projects.id"), nullable=False),
    _of_workspace(),
    Column("status", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("published_at", Float),
    Column("stopped", Integer, nullable=False, default=0),
    Column("excluded", JSON, nullable=False),  # participants named by earlier studies, read when it was published
    Column("test_of", Text),  # the draft that this is a test of
    Column("body", JSON, nullable=False),
)

participants = _with_id(
    "participants",
    Column("email", Text),  # test participants only
    Column("attributes", JSON, nullable=False),  # filter id -> choice id, list of choice ids, or number
)

submissions = _with_id(
    "submissions",
    Column("study_id", Text, ForeignKey("studies.id"), nullable=False),
    Column("participant_id", Text, ForeignKey("participants.id"), nullable=False),
    Column("status", Text, nullable=False),
    Column("place_url", Text),  # which of several addresses of the study this person was given
    Column("listed_from", Integer, nullable=False),  # the request from which on lists show it
    Column("reserved_at", Float, nullable=False),
    Column("started_at", Float),
    Column("completed_at", Float),
    Column("reviewed_at", Float),
    Column("entered_code", Text),
    Column("return_requested", Float),
    Column("paid", Integer, nullable=False, default=0),  # cents of reward, without bonuses
    Column("review", JSON, nullable=False),  # what the reviewer said
    Index("submissions_of_study", "study_id", "status"),
)

groups = _with_id(
    "participant_groups",
    _of_workspace(),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("deleted", Integer, nullable=False, default=0),
)

members = Table(
    "participant_group_members",
    metadata,
    Column("group_id", Text, ForeignKey("participant_groups.id"), primary_key=True),
    Column("participant_id", Text, primary_key=True),
    Column("since", Float, nullable=False),
)

bonuses = _with_id(
    "bonuses",
    Column("study_id", Text, ForeignKey("studies.id"), nullable=False),
    Column("rows", JSON, nullable=False),  # [submission id, cents]
    Column("created_at", Float, nullable=False),
)

bonus_payments = _numbered(
    "bonus_payments",
    Column("bonus_id", Text, ForeignKey("bonuses.id"), nullable=False),
    Column("submission_id", Text, ForeignKey("submissions.id"), nullable=False),
    Column("cents", Integer, nullable=False),
    Column("asked_at", Float, nullable=False),
    Column("paid_at", Float),  # NULL until it was carried out
)

messages = _with_id(
    "messages",
    Column("recipient_id", Text, nullable=False),
    Column("study_id", Text),
    Column("body", Text, nullable=False),
    Column("sent_at", Float, nullable=False),
)

collections = _with_id(
    "collections",
    Column("project_id", Text, ForeignKey("projects.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("study_ids", JSON, nullable=False),
    Column("deleted", Integer, nullable=False, default=0),
)

exports = _numbered(
    "demographic_exports",
    Column("study_id", Text, ForeignKey("studies.id"), nullable=False),
    Column("filters", JSON, nullable=False),
)

secrets = Table(
    "hook_secrets",
    metadata,
    Column("workspace_id", Text, ForeignKey("workspaces.id"), primary_key=True),
    Column("id", Text, nullable=False),
    Column("value", Text, nullable=False),
)

subscriptions = _with_id(
    "hook_subscriptions",
    _of_workspace(),
    Column("event_type", Text, nullable=False),
    Column("target_url", Text, nullable=False),
    Column("confirm_secret", Text, nullable=False),
    Column("enabled", Integer, nullable=False, default=0),
    Column("failing_since", Float),
)

events = _with_id(
    "hook_events",
    Column("subscription_id", Text, ForeignKey("hook_subscriptions.id"), nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("resource_id", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("status", Text, nullable=False),  # PENDING, SUCCEEDED, FAILED
    Column("attempts", Integer, nullable=False, default=0),
    Column("due_at", Float, nullable=False),
)

deliveries = _numbered(
    "hook_deliveries",
    Column("event_id", Text, ForeignKey("hook_events.id"), nullable=False),
    Column("at", Float, nullable=False),
    Column("status", Integer),  # of the answer; NULL: there was none
)

jobs = _numbered(
    "jobs",
    Column("kind", Text, nullable=False),
    Column("subject", JSON, nullable=False),
    Column("due_at", Float, nullable=False),
    Column("due_request", Integer, nullable=False),  # or as soon as this many requests have come in all
)

faults = _numbered(
    "faults",
    Column("operation", Text, nullable=False),  # operation id, or *
    Column("kind", Text, nullable=False),
    Column("skip", Integer, nullable=False),  # matching requests that pass before the first
    Column("remaining", Integer, nullable=False),
    Column("details", JSON, nullable=False),
    Column("happened", Integer, nullable=False, default=0),
)

requests = _numbered(
    "requests",
    Column("at", Float, nullable=False),
    Column("operation", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("status", Integer),  # NULL: no answer was sent
    Column("fault", Text),
)
