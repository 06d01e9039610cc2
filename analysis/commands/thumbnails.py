"""Small pictures of a study's outputs, for its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.printing.document import OutputPlace, Thumbnails


def thumbnails_of(study: Path) -> Thumbnails:
    """Return what makes small pictures of an output: of its file, or of those that its text shows."""
    from spa.media import thumbnails
    from spa.study.load import load_study
    from spa.study.outputs import load_outputs

    outputs = load_outputs(load_study(study))

    def small(place: OutputPlace) -> tuple[str, ...]:
        item_id, system, sample = place
        samples = outputs.of(item_id, system)
        return thumbnails(samples[sample - 1]) if 0 < sample <= len(samples) else ()

    return small
