"""What a medium brings: all that the product knows of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from markupsafe import Markup

if TYPE_CHECKING:
    from spa.records.form import Exhibit


class Content(Protocol):
    """What an output or an exhibit holds: a text, or a file."""

    @property
    def text(self) -> str | None:
        """The text; empty or ``None`` where there is a file."""

    @property
    def file(self) -> Path | None:
        """The file; ``None`` where there is a text."""

    @property
    def seconds(self) -> float | None:
        """How long the file lasts, where that was found when its copy was made."""


Part = dict[str, Any]  # of a chat message
_FONT = re.compile(r'url\("([^"]+\.woff2)"\)')


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """How files of a medium go to models. Parts are those of chat messages, which other ways are made from.

    Parameters
    ----------
    type : str
        Of a part that holds such a file.
    part : callable
        The part for a file. It raises StudyError where the file cannot be sent.
    recorded : callable
        The part with a digest in the place of its bytes, as journals keep it.
    tokens : callable
        Estimate of the fewest and the most tokens that a model reads for a part, by the model's name or type.
    as_input : callable, optional
        The part as the Responses API takes it; ``None`` where it takes none.
    processor_type, processor_argument : str
        What chat templates and processors of transformers call such a file: ``{"type": "image"}`` with the mark
        ``image_token``, and the argument ``images``.
    decoded : callable
        What such a processor takes for a part.
    inline : callable, optional
        The media type and the bytes in base64 of a part that holds these.
    frames : callable, optional
        The parts that stand for a part where a rater is sent so many pictures a second in its place; ``None`` of what
        does not move.
    processor_options : mapping of str to Any
        What such a processor is told beside these files.
    processor_parts : tuple of str
        Attributes of processors that take such files in, any one of which; () where that is not asked.
    sent : str
        As what a model is sent a copy, as a methods section says it; "" where it says nothing of that.
    trial : callable, optional
        A part, what is asked about it in a few words, and the word in any answer of a model that takes such files in.
    """

    type: str
    part: Callable[[Path], Part]
    recorded: Callable[[Part], Part]
    tokens: Callable[[Part, str], tuple[int, int]]
    as_input: Callable[[Part], Part] | None
    processor_type: str
    processor_argument: str
    decoded: Callable[[Part], Any]
    inline: Callable[[Part], tuple[str, str]] | None = None
    frames: Callable[[Part, float], Sequence[Part]] | None = None
    processor_options: Mapping[str, Any] = field(default_factory=dict)
    processor_parts: tuple[str, ...] = ()
    sent: str = ""
    trial: Callable[[], tuple[Part, str, str]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """What may be wrong with how something is shown: what it does ("hold HTML"), and what is to be done.

    One of ``many`` is said where more than a few texts do, one ``apart`` where not all files do.
    """

    does: str
    do: str
    many: bool = False
    apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """A text cut into turns that are rated one by one, each after what led to it, and what follows the last of them."""

    each: tuple[str, ...]
    rest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NeutralCopy:
    """What is shown in the place of a file, and the names of what may be said of that (see ``MediumFiles``)."""

    content: bytes
    suffix: str
    marks: tuple[str, ...] = ()  # small letters
    seconds: float | None = None  # that it lasts, of what lasts
    loudness: float | None = None  # LUFS, of what is heard and long enough


@dataclass(frozen=True, slots=True, kw_only=True)
class MediumFiles:
    """How files of a medium are taken, sent to browsers and models, and shown on the dashboard.

    Parameters
    ----------
    formats : str
        Which they may be, as messages say it: "PNG, JPEG, GIF or WebP".
    fits : callable
        Whether a file is one of these. It raises OSError where the file cannot be read.
    media_type : callable
        What HTTP calls a file.
    directive : str
        The directive of a content security policy that lets a page load such files; "" for none.
    on_dashboard : callable
        Shows a file in a container of the dashboard, the Streamlit module or a column.
    models : ModelFiles, optional
        ``None`` where a model is sent what the medium says in words.
    neutral : callable, optional
        The copy that is shown and sent in the place of a file, given what stands in it; the copy of a copy is itself.
        It raises ValueError with what is wrong and what to do. ``None`` where files are shown as they are.
    copied : str
        How such copies are made, as a methods section says it of each file; "" where it says nothing of them.
    marks : mapping of str to Doubt
        What may be wrong with how files are shown, by the names that such copies bear.
    thumbnail : callable, optional
        A file made small, as an address that holds all of it; "" where it cannot be. ``None`` where none is made.
    streamed : bool
        Whether such files are long, and browsers ask for them part by part, as for sound and moving pictures. A page
        can be left once they were played.
    """

    formats: str
    fits: Callable[[Path], bool]
    media_type: Callable[[Path], str]
    directive: str = ""
    on_dashboard: Callable[[Any, Path], object]
    models: ModelFiles | None = None
    neutral: Callable[[bytes], NeutralCopy] | None = None
    copied: str = ""
    marks: Mapping[str, Doubt] = field(default_factory=dict)
    thumbnail: Callable[[Path], str] | None = None
    streamed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Medium:
    """One medium of what is shown.

    Parameters
    ----------
    key : str
        The value of ``[outputs] kind``.
    one, many, read : str
        What messages call it, such as "an image", "images", and what people do with it, such as "seen".
    titles : mapping of str to str
        Language -> the title of a new study, which names no system.
    wording : str
        End of the names of locale texts that speak of this medium; those without it are said where there are none.
    is_late : bool
        Whether a translation of a study's own may do without these texts: it may be older than the medium.
    suffixes : tuple of str
        Of files with an output each, in small letters: ".txt".
    takes : callable
        Takes what stands in a cell. It raises ValueError with what was expected and found.
    nested : bool
        Whether a cell may hold lists and objects, which are taken as JSON: its words stand in several texts then.
    names : tuple of str
        Names of words of the form that an exhibit needs.
    files : MediumFiles, optional
        ``None`` where an output is the text in its cell; else the cell holds the path of a file.
    shown : callable
        An exhibit's content on a page or in a HIT, given what returns the address of its file (or its data): an element
        of class ``body``, or an ``img``, which the page's script watches.
    holds : str, optional
        Key of the medium of the files that a text may name, which are shown within it.
    names_within : callable
        The files that a text names, each as it names it and as a path relative to the table of outputs.
    collected : tuple of Path
        Files beside the module with parts of the style sheet and of the script of all pages. Fonts that the style sheet
        names by ``url("NAME")`` lie beside it.
    script : Path, optional
        A script that only pages which show it link to; it runs before that of all pages.
    sent : callable
        What a model is sent of an exhibit, in order: what it says in words, on page and prompt alike, with marked words
        in [square brackets]; and, as exhibits, the files that stand there, where models are sent such.
    reads : callable
        What people read of a text that is shown: the text itself, unless it is source from which that is rendered.
    told : callable
        All words that a text tells a reader, folded ones and names of tools too: what may say whose it is.
    turns : callable, optional
        Cuts a text into turns; ``None`` where it has none.
    claims : callable
        Whether a text in a cell shows signs of this medium: what a new study takes texts for.
    doubts : callable
        What may be wrong with how a text is shown.
    seconds : callable
        How long it takes to look at or to listen to, beside the reading of its words.
    least_seconds : callable
        For how long it must be on screen to count as seen, where 100 words take so many seconds.
    heds : int, optional
        Number of the option of question 2.2 of HEDS (the human evaluation datasheet) that means such outputs.
    """

    key: str
    one: str
    many: str
    read: str
    titles: Mapping[str, str]
    wording: str = ""
    is_late: bool = False
    suffixes: tuple[str, ...]
    takes: Callable[[str], str] = str
    nested: bool = False
    names: tuple[str, ...] = ()
    files: MediumFiles | None = None
    shown: Callable[[Exhibit, Callable[[Exhibit], str]], Markup]
    holds: str | None = None
    names_within: Callable[[str], Iterable[tuple[str, str]]] = lambda text: ()
    collected: tuple[Path, ...] = ()
    script: Path | None = None
    reads: Callable[[str], str] = str
    sent: Callable[[Exhibit], Sequence[str | Exhibit]]
    told: Callable[[str], str] = str
    turns: Callable[[str], Turns] | None = None
    claims: Callable[[str], bool] = lambda text: False
    doubts: Callable[[str], Iterable[Doubt]] = lambda text: ()
    seconds: Callable[[Content], float]
    least_seconds: Callable[[Content, float], float]
    heds: int | None = None

    @property
    def has_words(self) -> bool:
        """Whether outputs are texts: measured in words, filtered, and where they are one, compared and marked."""
        return self.files is None

    @property
    def is_text(self) -> bool:
        """Whether an output is one text, in which words are compared and errors marked."""
        return self.has_words and not self.nested

    @property
    def shows_files(self) -> bool:
        """Whether what is shown may stand in files beside the table of outputs."""
        return self.files is not None or self.holds is not None

    @property
    def fonts(self) -> tuple[Path, ...]:
        """The fonts that its style sheets name."""
        sheets = (path for path in self.collected if path.suffix == ".css")
        named = [(path, name) for path in sheets for name in _FONT.findall(path.read_text(encoding="utf-8"))]
        return tuple(path.with_name(name) for path, name in named)

    def said(self, exhibit: Exhibit) -> str:
        """Return what an exhibit says in words, with marked words in [square brackets]."""
        return "".join(part for part in self.sent(exhibit) if isinstance(part, str))

    def holds_path(self, cell: str) -> bool:
        """Return whether a cell looks like the path of a file of this medium; never where outputs stand in cells."""
        return self.files is not None and cell.lower().endswith(self.suffixes)

    @property
    def noun(self) -> str:
        """What messages call one, without the article: "image"."""
        return self.one.partition(" ")[2]
