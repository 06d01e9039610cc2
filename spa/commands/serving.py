"""The application that `spa serve` runs, made in each of its processes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spa.errors import StudyError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from spa.commands.workspace import Workspace


LINKS_WRITTEN = "links_written"  # a fact of the store


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What was asked for; can be sent to another process."""

    study: Path
    store: str | None
    public_url: str
    trusted_proxies: tuple[str, ...] = ()
    new_visits: int | None = None  # most a minute
    log_json: bool = False
    links_only: bool = False
    reserved: int = 0  # places for personal links

    def app(self, workspace: Workspace) -> FastAPI:
        """Return the application for an open workspace."""
        from spa.server.admin import admin_token
        from spa.server.app import create_app
        from spa.server.rate_limits import Limits
        from spa.server.request_guard import parse_networks
        from spa.server.request_log import log_as_json
        from spa.server.survey_context import installed_adapters

        app = create_app(
            workspace,
            adapters=installed_adapters(),
            public_url=self.public_url,
            admin_token=admin_token(),
            trusted_proxies=parse_networks(self.trusted_proxies),
            limits=None if self.new_visits is None else Limits.of_new_visits(self.new_visits),
            log_requests=self.log_json,
            links_only=self.links_only,
            reserved=self.reserved,
        )
        if self.log_json:
            log_as_json()
        return app

    def __call__(self) -> FastAPI:
        """Open the workspace, which stays open as long as the process lives, and return the application."""
        from spa.commands.workspace import open_workspace

        return self.app(open_workspace(self.study, self.store))


def reserved_places(workspace: Workspace, wanted: int | None) -> int:
    """Return how many places are kept for personal links: by default one for each, once they were written out.

    Raises
    ------
    StudyError
        If there are fewer links than places reserved for them.
    """
    links = len(workspace.store.tokens(personal=True))
    if wanted is not None and wanted > links:
        raise StudyError(
            f"--reserve: expected at most {links}, the personal links of {workspace.store.name}, got {wanted}; "
            "build more of them with `spa build STUDY --annotators N`"
        )
    return wanted if wanted is not None else links if workspace.store.meta(LINKS_WRITTEN) else 0


def check_workers(workspace: Workspace, workers: int) -> None:
    """Refuse several processes on a database that is one process's.

    Raises
    ------
    StudyError
        If the store is an SQLite file.
    """
    if workers > 1 and workspace.store.is_file:
        raise StudyError(
            f"--workers {workers}: expected a database for several processes, got {workspace.store.name}, an SQLite "
            "file, which one process serves; build into PostgreSQL with `spa build STUDY --store "
            "postgresql://USER@HOST/NAME` and serve that, or leave --workers out"
        )
