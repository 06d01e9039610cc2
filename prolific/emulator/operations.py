"""The operations of the API that are modelled: what each does here, and where it is known to fall short."""

from __future__ import annotations

from dataclasses import dataclass

from prolific.emulator import (
    account_routes,
    collection_routes,
    participant_routes,
    study_routes,
    submission_routes,
    webhook_routes,
)
from prolific.emulator.routing import Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the published description (``published``), or beside it."""

    id: str
    published: bool = True


API_ROUTES: tuple[Route, ...] = (
    *account_routes.routes.all,
    *study_routes.routes.all,
    *submission_routes.routes.all,
    *participant_routes.routes.all,
    *collection_routes.routes.all,
    *webhook_routes.routes.all,
)
UNPUBLISHED = frozenset({"ScreenOutSubmissions"})
OPERATIONS = tuple(
    Operation(id=name, published=name not in UNPUBLISHED)
    for name in dict.fromkeys(route.operation for route in API_ROUTES)
)
