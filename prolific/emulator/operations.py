"""The operations of the API that are emulated."""

from __future__ import annotations

from prolific.emulator import (
    account_routes,
    collection_routes,
    participant_routes,
    study_routes,
    submission_routes,
    webhooks,
)
from prolific.emulator.routing import Route

API_ROUTES: tuple[Route, ...] = (
    *account_routes.ROUTES,
    *study_routes.ROUTES,
    *submission_routes.ROUTES,
    *participant_routes.ROUTES,
    *collection_routes.ROUTES,
    *webhooks.ROUTES,
)
UNPUBLISHED = frozenset({"ScreenOutSubmissions"})
OPERATIONS = tuple(dict.fromkeys(route.operation for route in API_ROUTES))
