"""The texts of the site by language, and the format of amounts and times."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Literal

from markupsafe import Markup, escape

from mturk.endpoint.money import format_money
from spa.records.texts import Texts, placeholders

LANGUAGES = ("en", "zh", "ar")  # in the order in which they are offered
RIGHT_TO_LEFT = frozenset({"ar"})
STEPS = ((86_400, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds"))


class TextsIncomplete(ValueError):
    """A language has missing or unknown texts, or texts with other placeholders."""


class SiteTexts(Texts):
    """One language of the site."""

    @property
    def direction(self) -> str:
        """Return ``rtl`` or ``ltr``."""
        return "rtl" if self.right_to_left else "ltr"

    def money(self, cents: int) -> str:
        """Return an amount of US dollars.

        >>> load_texts("en").money(150)
        '$1.50'
        """
        return self.say("unit.money", amount=format_money(cents))

    def duration(self, seconds: float) -> str:
        """Return a duration in its two largest units.

        >>> load_texts("en").duration(5400), load_texts("en").duration(45)
        ('1 h 30 min', '45 s')
        """
        left, said = int(seconds), []
        for size, name in STEPS:
            count, left = divmod(left, size)
            if count:
                said.append(self.say(f"unit.{name}", n=str(count)))
        return " ".join(said[:2]) or self.say("unit.seconds", n="0")

    def utc_text(self, seconds: float) -> str:
        """Return a time in UTC; the page's script converts it to the reader's time zone.

        >>> load_texts("en").utc_text(0)
        '1970-01-01 00:00 UTC'
        """
        return self.say("unit.utc", time=f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}")

    def time_element(self, seconds: float, kind: Literal["both", "date"] = "both") -> Markup:
        """Return a time as an HTML element that the page's script converts to the reader's time zone."""
        element = Markup('<time datetime="{}" data-local="{}">{}</time>')
        return element.format(stamp(seconds), kind, self.utc_text(seconds))

    def text_with_time(self, key: str, seconds: float) -> Markup:
        """Return the text of a key with a time in it."""
        before, _, after = self.say(key, time="\0").partition("\0")
        return escape(before) + self.time_element(seconds) + escape(after)


def stamp(seconds: float) -> str:
    """Return a time in ISO 8601.

    >>> stamp(0)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


@cache
def load_texts(language: str) -> SiteTexts:
    """Load one of ``LANGUAGES``.

    Raise TextsIncomplete if its keys or placeholders are not those of English.
    """
    entries, english = _read(language), _read("en")
    problems = [f"{key} is missing" for key in english if key not in entries]
    problems += [f"{key} is not used" for key in entries if key not in english]
    problems += [
        f"{key} wants the placeholders {sorted(placeholders(english[key]))}"
        for key in entries.keys() & english.keys()
        if placeholders(entries[key]) != placeholders(english[key])
    ]
    problems += [f"{key} is empty" for key, text in entries.items() if not text.strip()]
    if problems:
        raise TextsIncomplete(f"texts of the worker site in {language!r}: " + "; ".join(sorted(problems)))
    return SiteTexts(language=language, right_to_left=language in RIGHT_TO_LEFT, entries=entries)


def language_names() -> tuple[tuple[str, str], ...]:
    """Return tag and own name of each language."""
    return tuple((language, _read(language)["language"]) for language in LANGUAGES)


def choose_language(chosen: str | None, accepted: str) -> str:
    """Return a visitor's language: the ``chosen`` one, or the best of ``accepted`` (``Accept-Language``).

    >>> choose_language(None, "de-DE,ar-EG;q=0.8,en;q=0.3"), choose_language("zh", "ar"), choose_language("xx", "")
    ('ar', 'zh', 'en')
    """
    if chosen in LANGUAGES:
        return str(chosen)
    asked: list[tuple[float, int, str]] = []
    for place, part in enumerate(accepted[:300].split(",")):
        tag, _, weight = part.partition(";q=")
        try:
            asked.append((-float(weight or 1), place, tag.strip().lower().partition("-")[0]))
        except ValueError:
            continue
    return next((tag for _, _, tag in sorted(asked) if tag in LANGUAGES), LANGUAGES[0])


@cache
def _read(language: str) -> Mapping[str, str]:
    tables = tomllib.loads((files(__package__) / "locales" / f"{language}.toml").read_text(encoding="utf-8"))
    language_name = tables.pop("language")
    entries = {f"{table}.{name}": text for table, held in tables.items() for name, text in held.items()}
    return {"language": language_name, **entries}
