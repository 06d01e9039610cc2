"""Errors of the API, in each of the platform's formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

ErrorForm = Literal["documented", "wrapped", "bare", "message"]
Detail = str | list[str] | Mapping[str, Any]
REQUIRED = "This field is required."
TITLES = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    422: "Validation error",
    429: "Too many requests",
    500: "Server error",
    503: "Unavailable",
}
CODES = {400: 140003, 401: 140001, 403: 140002, 404: 140004, 405: 140005, 422: 140022, 429: 140029}
SERVER_CODE = 150000

# Operations whose published description gives the error without the outer "error".
BARE = frozenset(
    """
    BulkApproveSubmissions BulkMessageParticipants CalculateRewardRecommendations CalculateStudyCost
    CountStudySubmissionsByStatus CreateStudy GetMessages GetProjectStudies GetStudies GetStudyCost GetStudySubmissions
    GetSubmissions GetUnreadMessages SendMessage SendMessageToParticipantGroup
    """.split()
)


class EmulatorRequestError(Exception):
    """The platform refuses a request; its transaction is rolled back."""

    def __init__(self, status: int, detail: Detail, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def error_body(status: int, detail: Detail, *, operation: str | None, form: ErrorForm) -> dict[str, Any]:
    """Return the body of an error response.

    In the form "documented" the operation determines whether the body is wrapped in "error"; "message" is a short form
    that the platform's own client handles, too.
    """
    title = TITLES.get(status, TITLES[400] if status < 500 else TITLES[500])
    if form == "message":
        return {"message": title, "detail": detail}
    bare = {
        "status": status,
        "error_code": CODES.get(status, CODES[400] if status < 500 else SERVER_CODE),
        "title": title,
        "detail": detail,
        "additional_information": "",
        "traceback": "",
        "interactive": False,
    }
    if form == "bare" or (form == "documented" and operation in BARE):
        return bare
    return {"error": bare}


def invalid(**problems: str | list[str]) -> EmulatorRequestError:
    """Return the error of invalid fields or parameters, with a message for each."""
    return EmulatorRequestError(400, {name: [why] if isinstance(why, str) else why for name, why in problems.items()})


def not_found(noun: str, which: str) -> EmulatorRequestError:
    """Return the error of an object that does not exist."""
    return EmulatorRequestError(404, f"{noun} with id {which} does not exist")
