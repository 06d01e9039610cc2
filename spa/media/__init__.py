"""What is shown: an axis with a module for each medium, and this registry of them.

The value of ``[outputs] kind`` is the key of a medium. Whoever shows, sends, counts or checks an output asks its medium
here; to add one, write its module (see :mod:`spa.media.medium` for what it brings) and name it below.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spa.media.audio import AUDIO
from spa.media.conversation import CONVERSATION
from spa.media.image import IMAGE
from spa.media.markdown import MARKDOWN
from spa.media.medium import Content, Medium, ModelFiles
from spa.media.pictures import named
from spa.media.text import TEXT
from spa.media.video import VIDEO
from spa.media.words import MOST_COUNTED, WordCounts, words_by_speed

if TYPE_CHECKING:
    from spa.records.form import Exhibit
    from spa.records.materials import Material
    from spa.records.outputs import Outputs

MEDIA: tuple[Medium, ...] = (TEXT, MARKDOWN, CONVERSATION, IMAGE, AUDIO, VIDEO)
FEW, FEW_OF_ALL = 3, 10  # texts whose signs decide nothing: fewer, and fewer than one in so many
NEARLY_ALL = 0.9
LARGEST_INLINE = 1 << 20  # bytes of a clip that a page that stands alone may hold
JOINED = MARKDOWN.key  # the medium of texts with files
PLAIN = TEXT.key  # the medium of what every system was given, and of outputs in traces


class ShownWithin(Content, Protocol):
    """A file that stands within a text."""

    @property
    def medium(self) -> str:
        """The key of its medium."""


class Shown(ShownWithin, Protocol):
    """An item, an output or an exhibit: something of a medium, with the files within it."""

    @property
    def within(self) -> Sequence[ShownWithin]:
        """The files that its text names."""


def all_media() -> tuple[Medium, ...]:
    """Return all media, the usual one first."""
    return MEDIA


def medium_keys() -> tuple[str, ...]:
    """Return the keys of all media."""
    return tuple(medium.key for medium in MEDIA)


def medium_of(shown: str | ShownWithin) -> Medium:
    """Return the medium of an output, of an exhibit or of a key."""
    key = shown if isinstance(shown, str) else shown.medium
    for medium in MEDIA:
        if medium.key == key:
            return medium
    raise LookupError(f"no medium {key!r}; known: {', '.join(medium_keys())}")


def medium_of_file(path: Path) -> Medium | None:
    """Return the medium of a file by its suffix; ``None`` where it is of none."""
    suffix = path.suffix.lower()
    return next((medium for medium in MEDIA if suffix in medium.suffixes), None)


def medium_of_turns() -> Medium | None:
    """Return the medium whose outputs are made of turns."""
    return next((medium for medium in MEDIA if medium.turns is not None), None)


def medium_of_texts(texts: Sequence[str]) -> tuple[Medium, int]:
    """Return the medium of which texts show signs, and how many do; the plain one where hardly any do."""
    for medium in MEDIA:
        signs = sum(map(medium.claims, texts))
        if signs >= max(FEW, len(texts) / FEW_OF_ALL):
            return medium, signs
    return medium_of(PLAIN), 0


def medium_of_paths(cells: Sequence[str]) -> Medium | None:
    """Return the medium of which nearly all cells are paths of files; ``None`` where they are none."""
    for medium in MEDIA:
        paths = sum("\n" not in cell.strip() and medium.holds_path(cell.strip()) for cell in cells)
        if cells and paths >= NEARLY_ALL * len(cells):
            return medium
    return None


def text_with_files(parts: Sequence[str | Path]) -> str:
    """Return texts and paths of files, one below the other, as a text of the medium :data:`JOINED`."""
    return "\n\n".join(part if isinstance(part, str) else named(part.as_posix()) for part in parts)


def sent_media() -> Iterator[tuple[Medium, ModelFiles]]:
    """Yield the media whose files are sent to models, each with how they are."""
    for medium in MEDIA:
        if medium.files is not None and medium.files.models is not None:
            yield medium, medium.files.models


def model_files(part: Mapping[str, Any]) -> ModelFiles | None:
    """Return how the file in a part of a chat message goes to models; ``None`` of a part of text."""
    return next((models for _, models in sent_media() if models.type == part["type"]), None)


def recorded(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat message as journals keep it: with digests in the place of the bytes of files."""
    content = message.get("content")
    if not isinstance(content, list):
        return dict(message)
    parts = [(part, model_files(part)) for part in content]
    return {**message, "content": [part if models is None else models.recorded(part) for part, models in parts]}


def words_of(shown: Shown) -> int | None:
    """Return how many words of an output are read, each Chinese or Japanese character as one; ``None`` without words.

    >>> from spa.records.form import Exhibit, Segment
    >>> shown = Exhibit(
    ...     exhibit_id="e1", caption="A", label="A", item_id="1", medium=PLAIN, segments=(Segment(text="Two words"),)
    ... )
    >>> words_of(shown)
    2
    """
    counts = _words_shown(shown.medium, shown.text or "")
    return None if counts is None else counts.total


def minutes_to_read(shown: Shown) -> float:
    """Return how long the words of what is shown take to read silently, 0 without words."""
    counts = _words_shown(shown.medium, shown.text or "")
    return 0.0 if counts is None else counts.minutes


@lru_cache(MOST_COUNTED)  # pages and visits show the same outputs again and again
def _words_shown(kind: str, text: str) -> WordCounts | None:
    """Count what is read of a text shown as some medium; ``None`` of one without words."""
    medium = medium_of(kind)
    return words_by_speed(medium.reads(text)) if medium.has_words else None


def seconds_of(shown: Shown) -> float:
    """Return how long it takes to look at what is shown and at what stands within it, beside the reading of words."""
    inner = sum(medium_of(one).seconds(one) for one in shown.within)
    return medium_of(shown).seconds(shown) + inner


def least_seconds_of(shown: Shown, per_100_words: float) -> float:
    """Return for how long something must be on screen to count as seen, where 100 words take so many seconds."""
    inner = sum(medium_of(one).least_seconds(one, per_100_words) for one in shown.within)
    return medium_of(shown).least_seconds(shown, per_100_words) + inner


def length_of(shown: ShownWithin) -> float | None:
    """Return for how long what is shown plays, in seconds; ``None`` where it does not."""
    files = medium_of(shown).files
    return None if files is None or not files.streamed else shown.seconds


def data_url(shown: Exhibit) -> str:
    """Return the file of an exhibit as an address that holds all of it; "" of a clip too large for a page to hold."""
    files = medium_of(shown).files
    if files is None or shown.file is None:
        raise ValueError(f"exhibit {shown.exhibit_id} has no file")
    if files.streamed and shown.file.stat().st_size > LARGEST_INLINE:
        return ""
    return f"data:{files.media_type(shown.file)};base64,{base64.b64encode(shown.file.read_bytes()).decode('ascii')}"


def thumbnail(shown: Exhibit) -> str:
    """Return the file of an exhibit made small, as an address that holds all of it; "" where there is none."""
    files = medium_of(shown).files
    return "" if files is None or files.thumbnail is None or shown.file is None else files.thumbnail(shown.file)


def thumbnails(shown: Material) -> tuple[str, ...]:
    """Return the files of an output, or of what systems were given, made small, as :func:`thumbnail` does."""
    own = () if shown.shown_file is None else ((shown.medium, shown.shown_file),)
    files = (*own, *((one.medium, one.shown_file) for one in shown.within))
    made = [of(path) for key, path in files if (one := medium_of(key).files) is not None and (of := one.thumbnail)]
    return tuple(address for address in made if address)


def media_shown(study: Outputs) -> tuple[Medium, ...]:
    """Return the media of all that a study may show, also within texts."""
    keys = dict.fromkeys(key for one in study.shown() for key in (one.medium, *(inner.medium for inner in one.within)))
    return tuple(map(medium_of, keys))


def page_sources(places: str) -> str:
    """Return the directives of a content security policy that let a page load the files of all media from places.

    >>> page_sources("'self' data:")
    "img-src 'self' data:; media-src 'self' data:; "
    """
    directives = dict.fromkeys(medium.files.directive for medium in MEDIA if medium.files is not None)
    return "".join(f"{directive} {places}; " for directive in directives if directive)
