"""What people said at the end, question by question."""

from __future__ import annotations

from analysis.report.document import Block, Fold, Heading, Paragraph, Section
from analysis.report.explanations import LONGEST
from analysis.results.records import Results
from analysis.results.words import Names, plural, sentence

TABLE = "tables/interview.csv"


def interview(results: Results) -> Section | None:
    """Show the answers to each question of the interview, those of excluded annotators too."""
    rows = results.interview
    if not rows:
        return None
    names = Names(results)
    intro = f"Asked after everything else, in one's own words; nobody is excluded here. All answers stand in {TABLE}."
    blocks: list[Block] = [Paragraph(text=intro)]
    for question in dict.fromkeys(row.question for row in rows):
        blocks.append(Heading(text=question))
        for group in dict.fromkeys(row.group for row in rows):
            own = [row.answer for row in rows if (row.question, row.group) == (question, group)]
            parts = tuple(Paragraph(text=answer[:LONGEST], quoted=True) for answer in own)
            if own:
                summary = f"{sentence(names.group(group))}: {plural(len(own), 'answer')}"
                blocks.append(Fold(summary=summary, blocks=parts))
    return Section(id="interview", title="In people’s own words", blocks=tuple(blocks))
