"""The page and the map that ``spa explanations`` writes beside its tables."""

from __future__ import annotations

from analysis.answers.study_facts import StudyReport
from analysis.explanations.exploration import ExplorationResults
from analysis.explanations.section import exploration_blocks, map_of
from analysis.figures.plain_text import shown_name
from analysis.printing.document import Document, Section
from analysis.printing.names import KINDS
from analysis.report.html import render_html
from analysis.report.markdown import render_markdown

TITLE = "What the explanations are about"


class TextNames:
    """Names of who wrote and of what about, where no results are at hand."""

    def __init__(self, study: StudyReport | None) -> None:
        self._criteria = {one.id: one.name or one.id for one in (study.criteria if study else ())}

    def criterion(self, criterion_id: str) -> str:
        """Return the shown name of a criterion."""
        return shown_name(self._criteria.get(criterion_id, criterion_id))

    def group(self, group: str) -> str:
        """Return "people", or a rater's own name."""
        return KINDS.get(group) or shown_name(group)


def explanations_files(
    exploration: ExplorationResults, study: StudyReport | None, title: str, stem: str
) -> dict[str, str]:
    """Return a page of this name, as HTML and Markdown, and its map as a figure, by path."""
    names = TextNames(study)
    section = Section(id="exploration", title=TITLE, blocks=tuple(exploration_blocks(exploration, names)))
    document = Document(title=TITLE, subtitle=title, language="en", sections=(section,))
    return {
        f"{stem}.html": render_html(document),
        f"{stem}.md": render_markdown(document),
        "figures/exploration.svg": map_of(exploration, names),
    }
