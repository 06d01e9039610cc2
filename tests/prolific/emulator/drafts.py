"""Studies for tests of the emulated platform."""

from __future__ import annotations

from typing import Any

import httpx2

URL = "https://example.org/s?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
MESSAGE = (
    "Two questions told you which answer to choose, and both were answered otherwise; this was announced on the "
    "first page of the study."
)


def draft(**changes: Any) -> dict[str, Any]:
    """Return the body of a small study; a change to None leaves a field out."""
    body: dict[str, Any] = {
        "name": "Compare short texts",
        "description": "<p>Read and compare.</p>",
        "external_study_url": URL,
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            code("DONE"),
            code("NOCONSENT", "NO_CONSENT", {"action": "REQUEST_RETURN", "return_reason": "You did not consent."}),
        ],
        "total_available_places": 2,
        "estimated_completion_time": 10,
        "maximum_allowed_time": 45,
        "reward": 180,
    }
    return {name: value for name, value in {**body, **changes}.items() if value is not None}


def code(text: str, kind: str = "COMPLETED", *actions: dict[str, Any], actor: str = "participant") -> dict[str, Any]:
    """Return one completion code; it is reviewed by hand where nothing else is said."""
    return {
        "code": text,
        "code_type": kind,
        "actions": list(actions) or [{"action": "MANUALLY_REVIEW"}],
        "actor": actor,
    }


def created(api: httpx2.Client, **changes: Any) -> str:
    """Create a draft and return its id."""
    response = api.post("/api/v1/studies/", json=draft(**changes))
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def published(api: httpx2.Client, **changes: Any) -> str:
    """Create a study, publish it and wait until it is active."""
    study = created(api, **changes)
    assert move(api, study, "PUBLISH").status_code == 200
    while status_of(api, study) == "PUBLISHING":
        pass
    return study


def move(api: httpx2.Client, study: str, action: str) -> httpx2.Response:
    """Ask for a transition of a study."""
    return api.post(f"/api/v1/studies/{study}/transition/", json={"action": action})


def status_of(api: httpx2.Client, study: str) -> str:
    """Return the status of a study."""
    return str(api.get(f"/api/v1/studies/{study}/").json()["status"])


def review(api: httpx2.Client, submission: str, action: str, **facts: Any) -> httpx2.Response:
    """Ask for a transition of a submission."""
    return api.post(f"/api/v1/submissions/{submission}/transition/", json={"action": action, **facts})


def submission(api: httpx2.Client, which: str) -> dict[str, Any]:
    """Return a submission as the API shows it."""
    return dict(api.get(f"/api/v1/submissions/{which}/").json())
