"""A study opened for the commands: its store, its table [prolific] and, with a token, the platform."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prolific.api.access import Access, NoToken, find_access
from prolific.api.client import Prolific
from prolific.api.problems import ProlificError
from prolific.idempotent_calls import IdempotentProlificCalls
from prolific.offer import SessionOffer, offer_of
from prolific.settings import ProlificTable, read_table
from prolific.study_ids import SOURCE, study_of
from spa.commands.options import StudyLocation, announce
from spa.commands.workspace import Workspace, open_workspace
from spa.errors import StudyError
from spa.live import in_waves
from spa.platforms.waves import first_wave
from spa.responses.run_lock import exclusive_run

if TYPE_CHECKING:
    from spa.responses.store import Store

VISIBLE_AFTER_SECONDS = 60.0  # an emulator has done what it will do when the connection ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificStudy:
    """A study on Prolific, opened."""

    file: Path  # the study file
    workspace: Workspace
    table: ProlificTable
    offer: SessionOffer
    key: str  # of this store's study; stands in every name on the platform
    client: Prolific | None  # None without a token
    access: Access | None
    idempotent_calls: IdempotentProlificCalls
    clock: Callable[[], float]
    sleep: Callable[[float], None]

    @property
    def poll_seconds(self) -> float:
        """Return the seconds between two looks at something that the platform does with a delay."""
        return 0.2 if self.access is not None and self.access.local else 3.0

    @property
    def store(self) -> Store:
        """Return the store."""
        return self.workspace.store

    @property
    def platform(self) -> Prolific:
        """Return the client, or raise without a token."""
        if self.client is None:
            raise NoToken
        return self.client

    def internal_name(self, session: int = 1) -> str:
        """Return the internal name of a session's study, by which it is found on the platform."""
        return f"{self.workspace.study.id}-{self.key}-{session}"

    def study_id(self, session: int = 1) -> str | None:
        """Return the platform's id of a session's study; ``None`` before it is created."""
        return study_of(self.idempotent_calls.journal, self.key, session)

    def need_study(self, session: int = 1) -> str:
        """Return the platform's id of a session's study, which must have been created."""
        found = self.study_id(session)
        if found is None:
            raise ProlificError(
                f"{self.file}: session {session} is not on Prolific yet; `spa prolific create` makes a draft"
            )
        return found

    def survey_address(self, public_url: str | None) -> str:
        """Return the public URL of the survey server: ``public_url``, else the study file's."""
        address = public_url or self.table.public_url
        if address is None:
            raise StudyError(f"{self.file}: expected --public-url or [prolific] public_url, got neither")
        return address

    def check_session(self, session: int) -> None:
        """Refuse a session that the study does not have."""
        if not 1 <= session <= self.offer.sessions:
            raise StudyError(f"{self.file}: [people] sessions is {self.offer.sessions}, got --session {session}")

    def created(self) -> dict[int, str]:
        """Return the sessions created on the platform, with the ids of their studies."""
        found = {session: self.study_id(session) for session in range(1, self.offer.sessions + 1)}
        return {session: study_id for session, study_id in found.items() if study_id is not None}


@contextmanager
def open_prolific_study(
    location: StudyLocation,
    *,
    alone: bool = False,
    offline: bool = False,
) -> Iterator[ProlificStudy]:
    """Open a study for the commands.

    ``alone`` keeps other commands from changing the platform meanwhile; ``offline`` accepts a missing token.

    Raises
    ------
    StudyError, ResponseError, ProlificError
        If study, store or access cannot be used.
    """
    file = location.study
    with ExitStack() as stack:
        workspace = stack.enter_context(open_workspace(file, location.store))
        table = read_table(workspace.study.platforms.get(SOURCE, {}), str(file))
        offer = offer_of(workspace.study, table, file=str(file))
        if in_waves(workspace.study):
            offer = replace(offer, places=first_wave(workspace.study, workspace.store, most=offer.most))
        access = None
        try:
            access = find_access(location.endpoint_url, os.environ)
        except NoToken:
            if not offline:
                raise
        if alone:
            stack.enter_context(exclusive_run(workspace.store.name, SOURCE, workspace.store.reading, holder="bridge"))
        client = None if access is None else stack.enter_context(Prolific(access))
        key = store_key(workspace.store)
        visible_after = 0.0 if access is not None and access.local else VISIBLE_AFTER_SECONDS
        idempotent_calls = IdempotentProlificCalls(
            workspace.store, scope=key, visible_after=visible_after, announce=announce
        )
        yield ProlificStudy(
            file=file,
            workspace=workspace,
            table=table,
            offer=offer,
            key=key,
            client=client,
            access=access,
            idempotent_calls=idempotent_calls,
            clock=time.time,
            sleep=time.sleep,
        )


def store_key(store: Store) -> str:
    """Return the key of a store's study on the platform; each store of a study has its own."""
    return hashlib.sha256(f"prolific {store.meta('secret')}".encode()).hexdigest()[:8]
