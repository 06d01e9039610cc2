"""Whether the plan was fixed before the answers, and what deviates from it."""

from __future__ import annotations

from datetime import UTC, datetime

from analysis.printing.document import Block, Bullets, Paragraph, Section
from analysis.printing.words import plural
from analysis.records.results import Results


def preregistered(results: Results) -> Section | None:
    """Report the frozen plan; nothing where none was frozen."""
    frozen = results.study.preregistration if results.study else None
    if frozen is None:
        return None
    when = datetime.fromtimestamp(frozen.frozen_at, UTC)
    before = "before anybody had handed in a form"
    if frozen.submissions:
        before = f"when {plural(frozen.submissions, 'form')} had been handed in already"
    frozen_words = (
        f"The analysis plan was frozen on {when:%Y-%m-%d at %H:%M} UTC, {before} (SHA-256 {frozen.sha256[:16]})."
    )
    blocks: list[Block] = [Paragraph(text=frozen_words)]
    if frozen.deviations:
        blocks.append(Paragraph(text="What differs from it:", weight="warning"))
        blocks.append(Bullets(items=tuple(" ".join(line.split()) for line in frozen.deviations)))
    else:
        blocks.append(Paragraph(text="Nothing deviates from it."))
    return Section(id="preregistration", title="What was set in advance", blocks=tuple(blocks))
