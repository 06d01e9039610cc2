"""What is shown, as it was read: a text, which may name files that stand within it, or a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """A file within a text: what is shown where the text names it."""

    name: str  # as the text names it
    medium: str  # key of its medium
    file: Path
    copy: Path | None = None  # shown in the place of the file
    marks: tuple[str, ...] = ()  # what may be wrong with how the copy is shown (see MediumFiles of spa.media)
    seconds: float | None = None  # that the copy lasts

    @property
    def text(self) -> None:
        """That it is no text."""

    @property
    def shown_file(self) -> Path:
        """The file that people and models are shown."""
        return self.copy or self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Something of a medium: a text, or a file."""

    medium: str  # key of its medium
    text: str | None
    file: Path | None = None
    copy: Path | None = None  # shown in the place of the file
    marks: tuple[str, ...] = ()  # what may be wrong with how the copy is shown (see MediumFiles of spa.media)
    seconds: float | None = None  # that the copy lasts
    loudness: float | None = None  # of the copy, LUFS
    captions: Path | None = None  # of a clip
    captions_copy: Path | None = None  # shown in the place of these
    within: tuple[ShownFile, ...] = ()  # files that the text names

    @property
    def shown_file(self) -> Path | None:
        """The file that people and models are shown."""
        return self.copy or self.file

    @property
    def is_given(self) -> bool:
        """Whether there is anything at all."""
        return self.text is not None or self.file is not None

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that decides what is seen: the one shown, or those that the text names."""
        own = (one for one in (self.file, self.captions) if one is not None)
        return (*own, *(one.file for one in self.within))
