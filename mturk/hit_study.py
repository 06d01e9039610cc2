"""A study opened for the commands: its store, its table [mturk] and its endpoint."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spa.commands.options import StudyLocation

if TYPE_CHECKING:
    from mturk.endpoints import MTurkEndpoint
    from mturk.idempotent_calls import IdempotentMTurkCalls
    from mturk.settings import MTurkTable
    from spa.commands.workspace import Workspace
    from spa.responses.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class HitStudy:
    """A study, its table [mturk] and its endpoint."""

    workspace: Workspace
    settings: MTurkTable
    idempotent_calls: IdempotentMTurkCalls

    @property
    def endpoint(self) -> MTurkEndpoint:
        """The endpoint of the MTurk protocol."""
        return self.idempotent_calls.endpoint

    @property
    def store(self) -> Store:
        """The store."""
        return self.workspace.store

    @property
    def family(self) -> str:
        """The family of studies that share their annotators; by default the study itself."""
        return self.workspace.study.people.family or self.workspace.study.id


@contextmanager
def open_hit_study(location: StudyLocation, *, changes: bool) -> Iterator[HitStudy]:
    """Open a study with its endpoint; ``changes`` allows one process at a time."""
    from mturk import records
    from mturk.endpoints import choose_endpoint
    from mturk.idempotent_calls import IdempotentMTurkCalls
    from mturk.records import SOURCE
    from mturk.review_rules import note_rejections
    from mturk.settings import read_settings
    from spa.commands.workspace import open_workspace
    from spa.responses.run_lock import exclusive_run

    endpoint = choose_endpoint(location.endpoint_url)
    with ExitStack() as stack:
        workspace = stack.enter_context(open_workspace(location.study, location.store))
        settings = read_settings(workspace.study.platforms.get(SOURCE, {}), str(location.study))
        if changes:
            stack.enter_context(exclusive_run(workspace.store.name, SOURCE, workspace.store.reading, holder="bridge"))
        records.set_up(workspace.store)
        calls = IdempotentMTurkCalls(workspace.store, endpoint)
        yield HitStudy(workspace=workspace, settings=settings, idempotent_calls=calls)
        if changes:
            note_rejections(workspace.store, endpoint.origin, now=time.time())
