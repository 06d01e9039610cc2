"""Pages of the site: templates with the visitor's language, and the files that they link to."""

from __future__ import annotations

import hashlib
from functools import cache, partial
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from mturk.endpoint.site.groups import RequirementCheck
from mturk.endpoint.site.sessions import Visitor
from mturk.endpoint.site.texts import SiteTexts, language_names, stamp
from spa.forms.assets import common_style

SCRIPT, STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
ASSETS = {"site.css": STYLE, **dict.fromkeys(("site.js", "frame.js", "externalHIT_v1.js"), SCRIPT)}  # -> media type
PAGES = ("hits", "work", "history", "earnings", "messages", "qualifications", "account")
NAVIGATION = tuple((name, f"/{name}") for name in PAGES)
OF_TEXTS = ("language", "direction", "say", "money", "duration", "time_element", "text_with_time")  # what templates use


@cache
def environment() -> Environment:
    """Return the template environment, in which an undefined name is an error."""
    made = Environment(
        loader=PackageLoader("mturk.endpoint.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "asset": lambda name: f"/static/{asset_name(name)}",
        "navigation": NAVIGATION,
        "stamp": stamp,
        "number": lambda count: f"{count:,}",
    }
    return made


def render(
    template: str, texts: SiteTexts, *, place: str, visitor: Visitor | None = None, here: str = "", **context: Any
) -> str:
    """Return a page; ``place`` is the site's title, ``here`` the path that the navigation marks."""
    counts = dict.fromkeys(PAGES, "")
    if visitor is not None:
        counts |= {"work": str(visitor.in_hand or ""), "messages": str(visitor.unread or "")}
    shared = {
        **{name: getattr(texts, name) for name in OF_TEXTS},
        "languages": language_names(),
        "requirement_text": partial(requirement_text, texts),
        "counts": counts,
        "refresh": False,
    }
    page = environment().get_template(template)
    return page.render({**shared, **context}, place=place, visitor=visitor, here=here)


def requirement_text(texts: SiteTexts, asked: RequirementCheck) -> str:
    """Return a requirement as text."""
    name = asked.name or texts.say(f"requirement.{asked.known or 'unknown'}")
    apart = f"\u2068{name}\u2069"  # a name in another script must not turn the line around
    return texts.say(f"requirement.{asked.comparator}", name=apart, values=", ".join(asked.values))


@cache
def asset_text(name: str) -> str:
    """Return a file that pages link to."""
    text = (files("mturk.endpoint.site") / "templates" / name).read_text(encoding="utf-8")
    return common_style() + text if name.endswith(".css") else text


@cache
def asset_name(name: str) -> str:
    """Return the name under which a file is served, with a hash of its content, so that browsers may cache it."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem}.{hashlib.sha256(asset_text(name).encode()).hexdigest()[:12]}.{suffix}"


def send_asset(name: str) -> Response:
    """Return a style sheet or script, also by its plain name, to which pages of HITs link."""
    for plain, kind in ASSETS.items():
        if name in (plain, asset_name(plain)):
            kept = "public, max-age=31536000, immutable" if name != plain else "public, max-age=3600"
            # A frame has no origin of its own, so it loads these as a stranger.
            headers = {"cache-control": kept, "cross-origin-resource-policy": "cross-origin"}
            return Response(asset_text(plain), media_type=kind, headers=headers)
    return HTMLResponse("", status_code=404)
