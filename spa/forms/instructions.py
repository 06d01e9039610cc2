"""The instructions: the study's own, or the preset with one paragraph for each thing that is asked."""

from __future__ import annotations

from spa.forms.assignment_view import AssignmentView
from spa.forms.form import Page, TextBlock
from spa.study.study import OVERALL, Study

_SECTIONS = ("likert", "continuous", "categories", "spans", "choices", "ranking")


def instructions_page(view: AssignmentView) -> Page:
    """Return the page that everybody reads first; its title is the study's."""
    blocks = view.assignment.blocks
    seen = "instructions", *((block.exposure, block.labels) for block in blocks)
    markdown = view.study.instructions.text or view.text_cache.cached(seen, lambda: preset_instructions(view))
    return Page(kind="instructions", title=view.study.title, blocks=(TextBlock(markdown=markdown),))


def preset_instructions(view: AssignmentView) -> str:
    """Return the locale's instructions for this study, in Markdown.

    What a preference probability means follows figure 4 of Ethayarajh & Jurafsky (2022): 100 % is certain that x
    is better, 0 % certain that x is no better (not: that y is better), 50 % no idea.
    """
    study = view.study
    labels = [view.system(label) for block in view.assignment.blocks for label in block.labels]
    separator = view.text_cache.texts.entries["form.list_separator"]
    paragraphs = [
        view.say("instructions_intro", systems=str(len(labels)), labels=separator.join(labels))
        if len(labels) > 1 and not study.single_outputs and not study.deals_pairs
        else view.say("instructions_intro_pairs" if study.deals_pairs else "instructions_intro_one")
    ]
    if study.spa is not None:
        pair = {"x": labels[0], "y": labels[1]}
        paragraphs.append(view.say("instructions_spa", exposure=_exposure(view), **pair))
        if study.spa.directions == "both":
            paragraphs.append(view.say("instructions_both_directions", **pair))
    for section in _SECTIONS:
        if getattr(study, section) is not None:
            points = "" if study.likert is None else str(study.likert.points)
            paragraphs.append(view.say(f"instructions_{section}", points=points))
    aspects = [criterion.name for criterion in study.criteria if criterion.id in _criteria(study)]
    if aspects:
        paragraphs.append(view.say("instructions_criteria", criteria=separator.join(aspects)))
    if any(criterion.mark_differences for criterion in study.criteria if criterion.id in _rated_criteria(study)):
        paragraphs.append(view.say("instructions_differences"))
    return "\n\n".join(paragraphs)


def _exposure(view: AssignmentView) -> str:
    exposures = [block.exposure for block in view.assignment.blocks]
    low, high = min(exposures), max(exposures)
    if low < high:
        return view.say("exposure_varied", low=str(low), high=str(high))
    return view.say("exposure_one") if high == 1 else view.say("exposure_many", number=str(high))


def _criteria(study: Study) -> set[str]:
    compared = (study.criteria_of(table) for table in ("spa", "choices", "ranking"))
    return ({criterion for criteria in compared for criterion in criteria} | _rated_criteria(study)) - {OVERALL}


def _rated_criteria(study: Study) -> set[str]:
    return {criterion for table in study.rating_tables for criterion in study.criteria_of(table)}
