"""All paragraphs of a methods section, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analysis.methods.analyses import analyses
from analysis.methods.annotators import annotators, exclusions
from analysis.methods.design import design
from analysis.methods.llms import llms
from analysis.methods.sentences import Methods, MethodsParagraph, Sentence
from analysis.methods.to_add import to_add
from analysis.records.results import Results

PARAGRAPHS: dict[str, Callable[[Results], Iterator[Sentence]]] = {
    "Design": design,
    "Annotators": annotators,
    "LLMs": llms,
    "Exclusions": exclusions,
    "Analysis": analyses,
}


def methods(results: Results) -> Methods:
    """Write the methods section of results.

    Parameters
    ----------
    results : Results
        What :func:`analysis.analyse` returned, or a ``results.json`` read back.

    Returns
    -------
    analysis.methods.Methods
        Each sentence says facts of the results and nothing else; a sentence whose facts are absent is left out.
    """
    found = (MethodsParagraph(title=title, sentences=tuple(write(results))) for title, write in PARAGRAPHS.items())
    return Methods(
        paragraphs=tuple(paragraph for paragraph in found if paragraph.sentences), to_add=tuple(to_add(results))
    )
