"""Who may take a HIT: the qualification requirements of a study's HITs, and how nobody takes part twice.

The protocol keeps a person from two assignments of one HIT, but not from two HITs. So each study
family has a qualification that means "has taken part"; whoever has it does not see the family's HITs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mturk.endpoint.requirements import ADULT, LOCALE, MASTERS, NUMBER_APPROVED, PERCENT_APPROVED
from mturk.endpoints import MTurkEndpoint
from mturk.idempotent_calls import IdempotentMTurkCalls
from mturk.replies import entries, fetch
from mturk.settings import MTurkTable
from spa.errors import PlatformError

HIDDEN = "DiscoverPreviewAndAccept"  # an annotator who may not accept does not see the HIT
MOST_REQUIREMENTS = 10
LONGEST_NAME = 200
QUALIFICATIONS = "qualifications"  # scope of the journal

Requirement = Mapping[str, Any]


def requirements(settings: MTurkTable, family_type: str) -> list[Requirement]:
    """Return the qualification requirements of a study's HITs; the first excludes who took part in its family.

    Raises
    ------
    PlatformError
        If there are more than the protocol takes.
    """
    found = [_requirement(family_type, "DoesNotExist")]
    if settings.masters:
        found.append(_requirement(MASTERS, "Exists"))
    if settings.least_approved is not None:
        found.append(_requirement(NUMBER_APPROVED, "GreaterThanOrEqualTo", IntegerValues=[settings.least_approved]))
    if settings.approval_rate is not None:
        found.append(_requirement(PERCENT_APPROVED, "GreaterThanOrEqualTo", IntegerValues=[settings.approval_rate]))
    if settings.countries:
        found.append(_requirement(LOCALE, "In", LocaleValues=[_locale(place) for place in settings.countries]))
    if settings.adult:
        found.append(_requirement(ADULT, "EqualTo", IntegerValues=[1]))
    for own in settings.qualifications:
        values = {"IntegerValues": list(own.values)} if own.values else {}
        found.append(_requirement(own.id, own.comparator, **values, ActionsGuarded=own.guard))
    if len(found) > MOST_REQUIREMENTS:
        raise PlatformError(
            f"[mturk]: expected at most {MOST_REQUIREMENTS} requirements with the exclusion of repeats, "
            f"got {len(found)}; leave out some of qualifications"
        )
    return found


def family_name(family: str) -> str:
    """Return the name of the qualification type that marks who took part in a study family."""
    return f"Took part in {family}"[:LONGEST_NAME]


def find_family_type(endpoint: MTurkEndpoint, family: str) -> str | None:
    """Return the id of a family's qualification type; ``None`` where it does not exist yet."""
    name = family_name(family)
    parameters = {"Query": name, "MustBeRequestable": False, "MustBeOwnedByCaller": True}
    known = entries(endpoint.reading, "list_qualification_types", "QualificationTypes", **parameters)
    return next((str(found["QualificationTypeId"]) for found in known if found["Name"] == name), None)


def ensure_family_type(calls: IdempotentMTurkCalls, family: str) -> str:
    """Return the id of a family's qualification type; create it, once, where it does not exist yet."""
    endpoint, key = calls.endpoint, f"type/{family}"
    found = find_family_type(endpoint, family)
    if found is not None and not calls.is_open(calls.scope(QUALIFICATIONS), key):
        return found

    def find_created(token: str) -> Mapping[str, Any] | None:
        made = find_family_type(endpoint, family)
        return None if made is None else {"QualificationType": {"QualificationTypeId": made}}

    request = {
        "Name": family_name(family),
        "Description": "Given to everybody who took part, so that nobody answers twice. It says nothing about quality.",
        "QualificationTypeStatus": "Active",
    }
    answer = calls.execute_call(
        calls.new_call(
            scope=QUALIFICATIONS,
            key=key,
            method=endpoint.client_without_retries.create_qualification_type,
            request=request,
            find=find_created,
            token_name=None,
        )
    )
    return str(answer["QualificationType"]["QualificationTypeId"])


def exclude(endpoint: MTurkEndpoint, family_type: str, worker_id: str) -> None:
    """Mark an annotator as having taken part, without notifying them; idempotent."""
    facts = {"QualificationTypeId": family_type, "WorkerId": worker_id}
    fetch(endpoint.reading.associate_qualification_with_worker, **facts, IntegerValue=1, SendNotification=False)


def _requirement(type_id: str, comparator: str, **more: Any) -> Requirement:
    return {"QualificationTypeId": type_id, "Comparator": comparator, "ActionsGuarded": HIDDEN, **more}


def _locale(place: str) -> Mapping[str, str]:
    country, _, subdivision = place.partition("-")
    return {"Country": country, "Subdivision": subdivision} if subdivision else {"Country": country}
