"""Databases for the tests that keep answers."""

from __future__ import annotations

from tests.postgres import database as database
from tests.postgres import postgres_cluster as postgres_cluster
from tests.postgres import postgres_url as postgres_url
