"""The participant's pages: open studies, entering one, and the page that takes completion codes."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from prolific.emulator import participant_pool, schema, studies, submissions
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.routing import Route, RouteRequest, RouteResponse

COOKIE = "emulated_submission"
HTML = "text/html; charset=utf-8"
STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1c2733}"
    "h1{font-size:1.4rem}.note{background:#fff4d6;padding:.6rem .9rem;border-radius:.4rem}"
    "li{margin:.5rem 0}a,button{color:#0b5cad}"
)


def _show_site(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show the studies that are open, each with a way in for a new person."""
    items = "".join(
        f"<li>{escape(row.body['name'])}: {row.body['reward'] / 100:.2f}, about "
        f"{row.body['estimated_completion_time']:g} minutes "
        f'<a href="/emulator/studies/{quote(row.id)}/">take part</a></li>'
        for row in tx.rows(schema.studies, schema.studies.c.status == "ACTIVE")
    )
    return _page("Open studies", f"<ul>{items}</ul>" if items else "<p>No study is open.</p>")


def _walk_in(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Let somebody new take part: whoever fits the study's filters, with a cookie that says who they are."""
    study = studies.find(tx, call.path["id"])
    email = f"{tx.request}.{tx.now}@test" if study.test_of is not None else None
    attributes = participant_pool.fitting(study.body["filters"] or [])
    person = participant_pool.add_participant(tx, attributes, email=email)
    return _open_study(tx, submissions.take(tx, study.id, person).id)


def _open_study(tx: RequestTransaction, submission_id: str) -> RouteResponse:
    """Send the browser of somebody who holds a place to the study, with a cookie by which it is known again."""
    row = submissions.start(tx, submission_id)
    cookie = f"{COOKIE}={row.id}; Path=/; HttpOnly; SameSite=Lax"
    headers = {"Location": submissions.study_url(tx, row), "Set-Cookie": cookie}
    return RouteResponse(status=303, text="", media_type=HTML, headers=headers)


def _take_code(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Take the code that the browser brings back, as the platform's own page does."""
    submission_id, code = call.cookies.get(COOKIE), call.query.get("cc")
    if submission_id is None:
        return _page("Who is this?", "<p>This browser did not come from a study of this platform.</p>", 400)
    row = submissions.find(tx, submission_id)
    if row.entered_code is None:
        row = submissions.complete(tx, row.id, code)
    shown = f"<p>Your submission is {escape(row.status)}; the code taken was {escape(row.entered_code or 'none')}.</p>"
    return _page("Thank you", shown)


def _page(title: str, content: str, status: int = 200) -> RouteResponse:
    note = '<p class="note">Emulated Prolific on this machine. Nobody is paid here.</p>'
    text = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Emulated Prolific</title>'
        f"<style>{STYLE}</style>{note}<h1>{escape(title)}</h1>{content}</html>"
    )
    return RouteResponse(status=status, text=text, media_type=HTML)


ROUTES = (
    Route("ShowSite", "GET", "/emulator/", _show_site),
    Route("ShowStudyDoor", "GET", "/emulator/studies/{id}/", _walk_in),
    Route("GoToStudy", "GET", "/emulator/submissions/{id}/go/", lambda tx, call: _open_study(tx, call.path["id"])),
    Route("TakeCode", "GET", "/submissions/complete", _take_code),
)
