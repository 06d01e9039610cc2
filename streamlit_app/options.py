"""What the dashboard was started with, handed from the command to its processes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

LOOPBACK = ("127.0.0.1", "localhost", "::1")
VARIABLE = "SPA_DASHBOARD"  # holds the options as JSON; what is worked out ahead is another process


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardOptions:
    """What is shown: a study with its store, or a folder of tidy tables. Who may see it is no part of this."""

    study: str | None = None
    tables: str | None = None
    reading: Mapping[str, bool | str | tuple[str, ...]] = field(default_factory=dict)  # how tables are read
    store: str | None = None
    notice: str | None = None  # what must be said first of the store: that it is a rehearsal's
    instead_of: str | None = None  # the study's own store, where its rehearsal is shown until somebody answers
    review: str | None = None  # the study in which people judged this one's explanations
    embedding: str | None = None  # folder with the model that embeds explanations

    @property
    def path(self) -> Path:
        """Return the study file."""
        if self.study is None:
            raise ValueError("tables are shown, and no study")
        return Path(self.study)

    @property
    def name(self) -> str:
        """Return what files that are taken away are called after."""
        return Path(self.study).parent.name if self.study else Path(self.tables or "").name


def to_environment(options: DashboardOptions) -> dict[str, str]:
    """Return the environment variable that carries the options."""
    return {VARIABLE: json.dumps(asdict(options))}


def from_environment() -> DashboardOptions:
    """Read what :func:`to_environment` wrote.

    >>> os.environ.update(to_environment(DashboardOptions(study="study.toml")))
    >>> from_environment().study
    'study.toml'
    """
    return TypeAdapter(DashboardOptions).validate_json(os.environ[VARIABLE])
