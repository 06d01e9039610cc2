"""The draft of a session's study on the platform, and its participant groups; each is created once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from prolific.api.problems import ProlificError
from prolific.api.records import StudyRecord
from prolific.completion_url import session_codes
from prolific.idempotent_calls import UnknownOutcome
from prolific.prolific_study import ProlificStudy
from prolific.screening import (
    GROUP_ALLOWED,
    GROUP_BLOCKED,
    STUDIES_BLOCKED,
    group_filter,
    requirements_of,
    resolve,
)
from prolific.study_body import study_body
from prolific.study_ids import create_key
from spa.journal import JournalEntry
from spa.platforms.idempotent_calls import Content


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Ids of a session's participant groups; ``None`` where a group does not exist."""

    family: str | None = None  # everybody who came to a study of the family
    done: str | None = None  # who completed this session
    before: str | None = None  # who completed the session before
    only: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


def family_group(prolific_study: ProlificStudy) -> str:
    """Return the name of the participant group of the study's family."""
    return prolific_study.table.group or f"{prolific_study.workspace.study.id}-{prolific_study.key}"


def done_group(prolific_study: ProlificStudy, session: int) -> str:
    """Return the name of the participant group of those who completed a session."""
    return f"{prolific_study.workspace.study.id}-{prolific_study.key}-done-{session}"


def find_groups(prolific_study: ProlificStudy, workspace_id: str, session: int) -> Groups:
    """Look up the groups of a session.

    Raises
    ------
    ProlificError
        If the study file names a group that does not exist, or two groups have the same name.
    """
    known = list(prolific_study.platform.audience.groups(workspace_id))
    last = prolific_study.offer.sessions
    return Groups(
        family=_group(known, family_group(prolific_study)),
        done=_group(known, done_group(prolific_study, session)) if session < last else None,
        before=_group(known, done_group(prolific_study, session - 1)) if session > 1 else None,
        only=_needed(known, prolific_study.table.only_groups, "only_groups"),
        excluded=_needed(known, prolific_study.table.exclude_groups, "exclude_groups"),
    )


def make_groups(prolific_study: ProlificStudy, workspace_id: str, session: int) -> Groups:
    """Look up the groups of a session and create those that do not exist yet."""
    found = find_groups(prolific_study, workspace_id, session)
    if session > 1 and found.before is None:
        raise ProlificError(
            f"{prolific_study.file}: session {session} follows session {session - 1}; create that one first"
        )
    done = None
    if session < prolific_study.offer.sessions:
        done = _made(prolific_study, workspace_id, done_group(prolific_study, session), found.done)
    return Groups(
        family=_made(prolific_study, workspace_id, family_group(prolific_study), found.family),
        done=done,
        before=found.before,
        only=found.only,
        excluded=found.excluded,
    )


def make_filters(
    prolific_study: ProlificStudy, workspace_id: str, groups: Groups, session: int
) -> list[dict[str, Any]]:
    """Return the study's filters, resolved by name, with those by group and by earlier study."""
    table = prolific_study.table
    filters = resolve(requirements_of(table), prolific_study.platform.audience.filters(workspace_id))
    allowed = [*groups.only, *([groups.before] if groups.before is not None else [])]
    blocked = list(groups.excluded)
    if session == 1 and table.exclude_earlier and groups.family is not None:
        blocked.append(groups.family)
    if len(allowed) > 1 and session > 1:
        allowed = [allowed[-1]]  # who completed the session before was in the others already
    if allowed:
        filters.append(group_filter(GROUP_ALLOWED, allowed))
    if blocked:
        filters.append(group_filter(GROUP_BLOCKED, blocked))
    if table.exclude_studies:
        filters.append(group_filter(STUDIES_BLOCKED, list(table.exclude_studies)))
    return filters


def make_body(
    prolific_study: ProlificStudy, *, address: str, filters: list[dict[str, Any]], groups: Groups, session: int
) -> dict[str, Any]:
    """Return the body of a session's study."""
    return study_body(
        prolific_study.offer,
        prolific_study.table,
        internal_name=prolific_study.internal_name(session),
        address=address,
        codes=session_codes(prolific_study.store, session),
        filters=filters,
        groups=[] if groups.family is None else [groups.family],
        done_group=groups.done,
        people_groups=prolific_study.workspace.study.people.groups,
    )


def make_draft(prolific_study: ProlificStudy, body: Mapping[str, Any], session: int) -> tuple[StudyRecord, bool]:
    """Create a session's draft, or update it from the study file; also return whether anything changed.

    Raises
    ------
    ProlificError
        If the study is published and the study file has changed since.
    """
    name = prolific_study.internal_name(session)
    digest = body_digest(body)
    calls = prolific_study.idempotent_calls
    known = calls.done(create_key(session))

    def send() -> Content:
        return {"study_id": prolific_study.platform.studies.create(body).study_id, "body": digest}

    def find(call: JournalEntry) -> Content | None:
        study = find_study(prolific_study, name)
        sent = body_digest(json.loads(call.request))
        return None if study is None else {"study_id": study.study_id, "body": sent}

    facts = calls.execute_call(calls.new_call(create_key(session), dict(body), send=send, find=find))
    study = prolific_study.platform.studies.fetch(str(facts["study_id"]))
    if study_digest(prolific_study, session, facts) == digest:
        return study, known is None
    if not study.draft:
        raise ProlificError(
            f"{prolific_study.file}: session {session} is {study.status} on Prolific, and the study file has "
            "changed since; a published study keeps its terms: undo the change, or build into a new store for a new "
            "study"
        )

    def change() -> Content:
        nonlocal study
        study = prolific_study.platform.studies.change(study.study_id, body)
        return {"body": digest}

    key = _change_key(session)
    calls.execute_call(calls.new_call(key, dict(body), send=change, find=lambda entry: None, state_decides=True))
    return study, True


def study_digest(prolific_study: ProlificStudy, session: int, facts: Content) -> str:
    """Return the digest of the body that the platform was last sent for a session."""
    changed = prolific_study.idempotent_calls.done(_change_key(session))
    return str((changed or facts)["body"])


def find_study(prolific_study: ProlificStudy, internal_name: str) -> StudyRecord | None:
    """Find a study by its internal name.

    Raises
    ------
    UnknownOutcome
        If there are two.
    """
    found = [
        one
        for one in prolific_study.platform.studies.of_project(prolific_study.table.project)
        if one.internal_name == internal_name
    ]
    if len(found) > 1:
        ids = ", ".join(one.study_id for one in found)
        raise UnknownOutcome(f"Prolific: the project has several studies {internal_name!r} ({ids}); delete all but one")
    return found[0] if found else None


def body_digest(body: Mapping[str, Any]) -> str:
    """Return a digest of a body."""
    return sha256(json.dumps(dict(body), sort_keys=True).encode()).hexdigest()


def _change_key(session: int) -> str:
    return f"change draft, session {session}"


def _made(prolific_study: ProlificStudy, workspace_id: str, name: str, known: str | None) -> str:
    key = f"create group {name}"
    calls = prolific_study.idempotent_calls
    if known is not None:
        calls.acknowledge(key, {"group_id": known})
        return known
    if calls.done(key) is not None:
        raise ProlificError(
            f"Prolific: the participant group {name!r} was made and is gone from the workspace; name another in "
            "[prolific] group"
        )

    def send() -> Content:
        return {"group_id": prolific_study.platform.audience.create_group(workspace_id, name)}

    def find(call: JournalEntry) -> Content | None:
        group = _group(list(prolific_study.platform.audience.groups(workspace_id)), name)
        return None if group is None else {"group_id": group}

    return str(calls.execute_call(calls.new_call(key, {"name": name}, send=send, find=find))["group_id"])


def _group(known: list[tuple[str, str]], name: str) -> str | None:
    ids = [group_id for group_id, title in known if title == name]
    if len(ids) > 1:
        raise UnknownOutcome(f"Prolific: the workspace has {len(ids)} participant groups {name!r}; rename all but one")
    return ids[0] if ids else None


def _needed(known: list[tuple[str, str]], names: tuple[str, ...], key: str) -> tuple[str, ...]:
    found = []
    for name in names:
        group = _group(known, name)
        if group is None:
            raise ProlificError(f"[prolific] {key}: the workspace has no participant group {name!r}")
        found.append(group)
    return tuple(found)
