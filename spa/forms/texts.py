"""What forms say, by language: one TOML file a language, every text replaceable by the study."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files

from spa.errors import StudyError
from spa.study.validation import shipped_languages

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
# Without these a text no longer says which system is meant, so an override must keep them.
_KEPT = frozenset({"label", "x", "y", "system"})
RANKING_TEXTS = ("instructions_ranking", "ranking_overall", "ranking_criterion")
READING_TEXTS = ("page.unseen", "page.unread", "page.consent_reading")
# Without these a translation of its own does without what they say: a study that runs need not be changed.
_DISPENSABLE = frozenset(
    {
        *(f"page.in_use_{part}" for part in ("title", "text", "address", "go")),
        *("page.minutes", "page.instructions", "page.unsent", "page.saved"),
        *("page.pause", "page.pause_text", "page.pause_copy", "page.pause_copied", "page.pause_platform"),
        *READING_TEXTS,
        *("form.consent_kept", "page.paused_title", "page.paused_text"),
        *(f"page.{name}" for name in ("gap_order", "order_unranked", "order_place", "order_up", "order_down")),
        *(f"page.{name}" for name in ("order_tie", "order_moved", "order_help", "order_confirm")),
        *("form.ranking_title", "form.prompt_ranks"),
        *(f"form.{name}{kind}" for name in RANKING_TEXTS for kind in ("", "_image")),
        *("page.span_hint", "page.span_lines", "page.span_category", "page.span_remove", "page.span_marked"),
        *("form.instructions_spans", "form.spans_overall", "form.spans_criterion", "form.spans_none"),
        *("form.prompt_spans", "form.prompt_span_categories"),
    }
)
_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "syr", "ug", "ur", "yi"})
_RIGHT_TO_LEFT_SCRIPTS = frozenset({"arab", "hebr", "nkoo", "syrc", "thaa"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The texts of one study, in its language."""

    language: str
    right_to_left: bool
    entries: Mapping[str, str]

    def has(self, *keys: str) -> bool:
        """Return whether there are all of these texts."""
        return self.entries.keys() >= set(keys)

    def say(self, key: str, **values: str) -> str:
        """Return the text of ``key`` with its ``{placeholders}`` filled.

        Parameters
        ----------
        key : str
            "form.x" or "page.x".
        **values : str
            What the placeholders become; braces inside a value mean nothing.

        Raises
        ------
        StudyError
            If this language and study have no such text.

        >>> load_texts("en", {"form.system_label": "Writer {label}"}).say("form.system_label", label="B")
        'Writer B'
        """
        text = self.entries.get(key)
        if text is None:
            raise StudyError(f"texts: no text {key!r} in language {self.language!r}; add it under [texts]")
        pieces = _pieces(text)
        if len(pieces) == 1:
            return text
        filled = [*pieces]
        filled[1::2] = [values.get(name, f"{{{name}}}") for name in pieces[1::2]]
        return "".join(filled)


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
    missing = [key for key in expected if key not in {*known, *overrides, *_DISPENSABLE}]
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


def placeholders(text: str) -> frozenset[str]:
    """Return the names in braces that ``Texts.say`` fills.

    >>> sorted(placeholders("{x} or {y}, {7*7}"))
    ['x', 'y']
    """
    return frozenset(_PLACEHOLDER.findall(text))


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


@lru_cache(maxsize=2048)
def _pieces(text: str) -> tuple[str, ...]:
    """Cut a text at its placeholders: what stands between them, and every second one a name."""
    return tuple(_PLACEHOLDER.split(text))


@cache
def _read_locale(language: str) -> Mapping[str, str]:
    tables = tomllib.loads((files("spa.forms") / "locales" / f"{language}.toml").read_text(encoding="utf-8"))
    return {f"{table}.{name}": text.strip("\n") for table in ("form", "page") for name, text in tables[table].items()}
