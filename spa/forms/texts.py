"""What forms say, by language: one TOML file a language, every text replaceable by the study."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from spa.elicitation import WAYS
from spa.elicitation.text_cache import TURN
from spa.errors import StudyError
from spa.media import all_media
from spa.records.texts import Texts, placeholders
from spa.study.validation import shipped_languages
from spa.widgets import WIDGETS

# Without these a text no longer says which system is meant, so an override must keep them.
_KEPT = frozenset({"label", "x", "y", "system"})
READING_TEXTS = ("page.unseen", "page.unread", "page.consent_reading")
PLAYING_TEXTS = tuple(
    f"page.{name}"
    for name in (
        *("consent_played", "unplayed", "not_played", "play_script", "play_failed", "play_again", "play_not"),
        *("play_noted", "play_both"),
    )
)
TURN_TEXTS = (
    *(
        "unnamed_caption",
        "output_caption",
        "instructions_intro",
        "instructions_intro_one",
        "instructions_likert",
        "instructions_continuous",
    ),
    *("instructions_categories", "rating_overall", "rating_criterion", "identical_overall", "identical_criterion"),
)  # with a wording of their own where turns are rated
# Without these a translation of its own does without what they say: a study that runs need not be changed.
_DISPENSABLE = frozenset(
    {
        *(f"page.in_use_{part}" for part in ("title", "text", "address", "go")),
        *("page.minutes", "page.instructions", "page.read_again", "page.unsent", "page.saved"),
        *("page.pause", "page.pause_text", "page.pause_copy", "page.pause_copied", "page.pause_platform"),
        *READING_TEXTS,
        *PLAYING_TEXTS,
        *(f"page.{name}" for name in ("consent_conduct", "consent_programs", "honeypot", "injected")),
        *(
            "form.rubric_of_item",
            "form.reference_of_item",
            *(
                f"form.{name}"
                for name in (
                    "examples_title",
                    "examples_intro",
                    "example_item",
                    "example_output",
                    "example_output_image",
                    "example_answer",
                )
            ),
            "form.consent_kept",
            "page.paused_title",
            "page.paused_text",
        ),
        *(
            f"form.{name}{wording}"
            for way in WAYS
            for name in way.late_texts
            for wording in ("", *(medium.wording for medium in all_media()))
        ),
        *(f"form.{name}{TURN}" for name in TURN_TEXTS),
        *(f"page.overview{medium.wording}" for medium in all_media()),
        *(f"page.asks_{way.settings.way}" for way in WAYS),
        "form.turn_caption",
        *(text for widget in WIDGETS for text in widget.late_texts),
    }
)
_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "syr", "ug", "ur", "yi"})
_RIGHT_TO_LEFT_SCRIPTS = frozenset({"arab", "hebr", "nkoo", "syrc", "thaa"})


def load_texts(language: str, overrides: Mapping[str, str]) -> Texts:
    """Load the texts of a language, with the study's own in their place.

    Parameters
    ----------
    language : str
        A language tag such as "en", "zh-CN" or "ar-EG". A language that is not shipped works
        when ``overrides`` gives every text; the length of the form, instructions shown again, the evidence of
        reading, the state of the connection and the address for another device are left out where it lacks theirs.
    overrides : mapping of str to str
        The study's ``[texts]``: key ("form.x", "page.x") to text.

    Raises
    ------
    StudyError
        If a key is unknown, a text is incomplete, or a placeholder is unknown or lost: every mistake is one line.
    """
    primary, *subtags = language.lower().split("-")
    shipped = shipped_languages()
    expected = _read_locale(primary if primary in shipped else "en")
    problems = _override_problems(expected, overrides)
    known = expected if primary in shipped else {}
    given = {*known, *overrides, *_DISPENSABLE}
    late = tuple(medium.wording for medium in all_media() if medium.is_late)
    missing = [key for key in expected if key not in given and not key.endswith(late)]
    if missing:
        listed = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        problems.append(
            f"texts: language {language!r} is not shipped (these are: {', '.join(shipped)}), so [texts] must give "
            f"every text of spa/forms/locales/en.toml; {len(missing)} are absent: {listed}"
        )
    if problems:
        raise StudyError(*problems)
    right_to_left = primary in _RIGHT_TO_LEFT or not _RIGHT_TO_LEFT_SCRIPTS.isdisjoint(subtags)
    return Texts(language=language, right_to_left=right_to_left, entries={**known, **overrides})


def _override_problems(expected: Mapping[str, str], overrides: Mapping[str, str]) -> list[str]:
    problems = []
    for key, text in overrides.items():
        if key not in expected:
            nearest = get_close_matches(key, expected, n=1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            problems.append(f"texts: unknown key {key!r}, expected form.NAME or page.NAME{hint}")
            continue
        if not text.strip():
            problems.append(f"texts: {key!r} is empty, expected a text; remove the line to keep the default")
            continue
        known, given = placeholders(expected[key]), placeholders(text)
        for name in sorted(given - known):
            offered = ", ".join(f"{{{other}}}" for other in sorted(known)) or "none"
            problems.append(f"texts: {key!r} has the placeholder {{{name}}}, expected one of: {offered}")
        for name in sorted((known & _KEPT) - given):
            problems.append(
                f"texts: {key!r} must contain {{{name}}}, got {text!r}; without it nobody knows what is meant"
            )
    return problems


@cache
def _read_locale(language: str) -> Mapping[str, str]:
    tables = tomllib.loads((files("spa.forms") / "locales" / f"{language}.toml").read_text(encoding="utf-8"))
    return {f"{table}.{name}": text.strip("\n") for table in ("form", "page") for name, text in tables[table].items()}
