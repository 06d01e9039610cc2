"""All paragraphs of a methods section, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analysis.figures.plain_text import shown_name
from analysis.methods.analyses import analyses
from analysis.methods.annotators import annotators, exclusions
from analysis.methods.design import MOST_QUOTED, design
from analysis.methods.llms import llms
from analysis.methods.sentences import Methods, MethodsParagraph, Sentence
from analysis.printing.words import listed
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


def to_add(results: Results) -> Iterator[str]:
    """Yield one line for each thing that is missing."""
    study = results.study
    human = [row for row in results.groups if row.annotator_kind == "human"]
    yield "which versions of the systems made the outputs, how (prompts, decoding), from which data under which licence"
    if study is None:
        yield "how items were chosen, what annotators were told and asked, and whether systems were hidden from them"
    elif len(study.questions) > MOST_QUOTED or not study.questions:
        yield "the wording of the questions, and of the instructions"
    else:
        yield "the wording of the instructions"
    if human:
        yield from _people(results)
    elif any(row.annotator_kind == "simulated" for row in results.groups):
        yield "everything about people: these annotators are simulated"
    unknown = [row.group for row in results.groups if row.annotator_kind == "llm" and not row.members]
    known = {row.group for row in study.raters} if study is not None else set()
    if missing := [group for group in unknown if group not in known]:
        yield f"of {listed([*map(shown_name, missing)])}: model and version, settings, prompt, and when it was asked"
    if study is not None and any(row.group in unknown and not row.simulated for row in study.raters):
        yield "the prompts of the LLMs in full (spa export --raw), and what they cost"


def _people(results: Results) -> Iterator[str]:
    study = results.study
    day = "the first day of recruitment" if study is not None and study.last_answer else "dates of recruitment"
    if study is None or not study.sources or any(row.recruited is None for row in study.sources):
        day += ", and where people were recruited"
    yield day
    yield "who could take part (language, country, expertise), and who did (age, gender, background)"
    yield "approval by an ethics board, or why none was needed; consent; how personal data are kept"
    if study is None or study.pay is None:
        yield "pay"
    yield "what people earned in an hour beside the minimum wage, and payments that reviewers did not decide on"
    if study is None or study.preregistration is None:
        yield "why so many annotators and items were chosen"
