"""What the dashboard was started with, handed from the command to the application."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

VARIABLE = "SPA_DASHBOARD"  # holds the options as JSON; the application is another process than the command


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Which study is shown, and who may decide.

    Without a ``reviewer`` nothing can be decided. With a ``token`` nothing is shown to whom does not bring it.
    """

    study: str
    store: str | None = None
    reviewer: str | None = None
    token: str | None = None

    @property
    def path(self) -> Path:
        """Return the study file."""
        return Path(self.study)


def to_environment(options: Options) -> dict[str, str]:
    """Return the environment variable that carries the options."""
    return {VARIABLE: json.dumps(asdict(options))}


def from_environment() -> Options:
    """Read what :func:`to_environment` wrote.

    >>> os.environ.update(to_environment(Options(study="study.toml")))
    >>> from_environment().study
    'study.toml'
    """
    return Options(**json.loads(os.environ[VARIABLE]))
