"""The participant's pages: open studies, entering one, and the page that takes completion codes."""

from __future__ import annotations

from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote

from sqlalchemy import select

from prolific.emulator import participant_pool, schema, submissions
from prolific.emulator.errors import EmulatorRequestError
from prolific.emulator.request_transaction import RequestTransaction
from prolific.emulator.routing import RouteRequest, RouteResponse, Routes

routes = Routes()
COOKIE = "emulated_submission"
HTML = "text/html; charset=utf-8"
STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1c2733}"
    "h1{font-size:1.4rem}.note{background:#fff4d6;padding:.6rem .9rem;border-radius:.4rem}"
    "li{margin:.5rem 0}a,button{color:#0b5cad}"
)


@routes.add("ShowSite", "GET", "/emulator/")
def show_site(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Show the studies that are open, each with a way in for a new person."""
    c = schema.studies.c
    rows = tx.connection.execute(select(schema.studies).where(c.status == "ACTIVE").order_by(c.number)).all()
    items = "".join(
        f"<li>{escape(row.body['name'])}: {row.body['reward'] / 100:.2f}, about "
        f"{row.body['estimated_completion_time']:g} minutes "
        f'<a href="/emulator/studies/{quote(row.id)}/">take part</a></li>'
        for row in rows
    )
    return _page("Open studies", f"<ul>{items}</ul>" if items else "<p>No study is open.</p>")


@routes.add("ShowStudyDoor", "GET", "/emulator/studies/{id}/")
def walk_in(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Let somebody new take part: whoever fits the study's filters, with a cookie that says who they are."""
    study = tx.connection.execute(select(schema.studies).where(schema.studies.c.id == call.path["id"])).one_or_none()
    if study is None:
        raise EmulatorRequestError(404, "There is no such study.")
    person = participant_pool.add_participant(
        tx,
        participant_pool.fitting(study.body["filters"] or []),
        email=f"{tx.request}.{tx.now}@test" if study.test_of is not None else None,
    )
    row = submissions.start(tx, submissions.take(tx, study.id, person).id)
    headers = {"Location": submissions.study_url(tx, row), "Set-Cookie": cookie(row.id)}
    return RouteResponse(status=303, text="", media_type=HTML, headers=headers)


@routes.add("GoToStudy", "GET", "/emulator/submissions/{id}/go/")
def go(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Send the browser of somebody who holds a place to the study."""
    row = submissions.start(tx, call.path["id"])
    headers = {"Location": submissions.study_url(tx, row), "Set-Cookie": cookie(row.id)}
    return RouteResponse(status=303, text="", media_type=HTML, headers=headers)


@routes.add("TakeCode", "GET", "/submissions/complete")
def take_code(tx: RequestTransaction, call: RouteRequest) -> RouteResponse:
    """Take the code that the browser brings back, as the platform's own page does."""
    submission_id, code = _from_cookie(call), call.query.get("cc")
    if submission_id is None:
        return _page("Who is this?", "<p>This browser did not come from a study of this platform.</p>", 400)
    row = submissions.find(tx, submission_id)
    if row.entered_code is None:
        row = submissions.complete(tx, row.id, code)
    shown = f"<p>Your submission is {escape(row.status)}; the code taken was {escape(row.entered_code or 'none')}.</p>"
    return _page("Thank you", shown)


def cookie(submission_id: str) -> str:
    """Return the header that lets a browser be known again."""
    return f"{COOKIE}={submission_id}; Path=/; HttpOnly; SameSite=Lax"


def _from_cookie(call: RouteRequest) -> str | None:
    try:
        found = SimpleCookie(call.cookie).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value


def _page(title: str, content: str, status: int = 200) -> RouteResponse:
    note = '<p class="note">Emulated Prolific on this machine. Nobody is paid here.</p>'
    text = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Emulated Prolific</title>'
        f"<style>{STYLE}</style>{note}<h1>{escape(title)}</h1>{content}</html>"
    )
    return RouteResponse(status=status, text=text, media_type=HTML)
