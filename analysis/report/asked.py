"""What was asked, of whom, and about what."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.answers.study_facts import StudyDroppedItem, StudyQuestion, StudyReport, StudySystem
from analysis.figures.plain_text import shown_name
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Fold, Paragraph, Section, Table, Terms
from analysis.printing.names import Names
from analysis.printing.words import count, listed, plural
from analysis.records.overview import Group
from analysis.records.results import Results

FORMS = {
    "identical": "the identical form",
    "variant": "a variant of the form",
}
BLIND = "No form named a system; annotators saw letters such as A and B, if any."
ROLES = {
    "human": "written or made by people",
    "reference": "reference, shown but not compared",
    "hidden_reference": "hidden reference, rated but not compared",
    "anchor": "anchor, rated but not compared",
    "system": "system",
}


def asked(results: Results) -> Section | None:
    """Describe the study, the questions and who answered."""
    study, names = results.study, Names(results)
    blocks: list[Block] = []
    appendix: list[Block] = []
    if study:
        told_apart = any(system.role != "system" for system in study.systems)
        facts = _facts(study)
        if study.systems and not told_apart:
            facts.append(("Systems", f"{listed([names.system(system.id) for system in study.systems])}. {BLIND}"))
        blocks.append(Terms(items=tuple(facts)))
        systems = _systems(study, names)
        (blocks if told_apart else appendix).extend([systems] if systems else [])
        blocks.extend(table for table in (_questions(study, names),) if table)
    groups = _groups(results, names)
    blocks += [groups] if groups else []
    if study and study.dropped_items:
        appendix.append(_dropped(study.dropped_items))
    title = "What was asked, and of whom"
    return Section(id="asked", title=title, blocks=tuple(blocks), appendix=tuple(appendix)) if blocks else None


def _name_of(way: str) -> str:
    from spa.elicitation import by_answers

    known = by_answers().get(way)
    return way if known is None else known.name


def _money(amount: str) -> str:
    """Return a price with two decimals, more only where it has more; "2.5" is "2.50"."""
    whole, _, cents = amount.partition(".")
    return f"{whole}.{cents.ljust(2, '0')}"


def _facts(study: StudyReport) -> list[tuple[str, str]]:
    from spa.elicitation import by_answers  # a report without a study needs none of it

    facts = []
    asked_ways = [by_answers()[way].described for way in study.elicitations]
    if asked_ways:
        facts.append(("Ways of asking", " ".join(asked_ways)))
    exposures = [str(exposure) for exposure in study.exposures]
    if exposures:
        outputs = "output" if exposures == ["1"] else "outputs"
        facts.append(("Exposure", f"{listed(exposures)} {outputs} of each system read before judging it"))
    if study.annotators_wanted:
        facts.append(("Annotators planned", count(study.annotators_wanted)))
    if study.pay is not None:
        facts.append(("Pay", f"{_money(study.pay)} {study.currency or ''} a completed submission".replace("  ", " ")))
    if study.language:
        facts.append(("Language of the form", study.language))
    return facts


def _systems(study: StudyReport, names: Names) -> Table | None:
    if not study.systems:
        return None
    alike = all(names.system(system.id) == shown_name(system.id) for system in study.systems)
    fields: list[Field[StudySystem]] = [
        text_column("System", lambda system: names.system(system.id)),
        text_column("Identifier", lambda system: "" if alike else shown_name(system.id)),
        text_column("What it is", lambda system: ROLES.get(system.role, system.role)),
    ]
    return tabulate("systems", "Systems", fields, study.systems, [BLIND])


def _questions(study: StudyReport, names: Names) -> Table | None:
    if not study.questions:
        return None
    fields: list[Field[StudyQuestion]] = [
        text_column("Way of asking", lambda question: _name_of(question.elicitation)),
        text_column("Criterion", lambda question: names.criterion(question.criterion)),
        text_column(
            "Scale",
            lambda question: (
                "fewer are better" if question.elicitation == "spans" else names.direction(question.criterion)
            ),
        ),
        text_column("Question", lambda question: cell(" ".join(question.text.split()), quoted=True)),
    ]
    constant = ("Scale",) if not names.lower_is_better else ()
    notes = ["As one form asks it; letters and their order change from form to form."]
    return tabulate("questions", "Questions", fields, study.questions, notes, constant=constant)


def _groups(results: Results, names: Names) -> Table | None:
    groups = results.groups
    if not groups:
        return None
    fields: list[Field[Group]] = [
        text_column("Group", lambda entry: names.group(entry.group), "annotators who are analysed together"),
        number_column(
            "Annotators",
            lambda entry: names.unnamed(entry.group) or count(entry.annotators),
            "who sent answers, before exclusions",
        ),
        number_column(
            "Forms", lambda entry: count(entry.assignments or None), "forms they filled in, before exclusions"
        ),
        number_column("Annotators excluded", lambda entry: count(entry.excluded_annotators)),
        number_column("Forms excluded", lambda entry: count(entry.excluded_assignments if entry.assignments else None)),
        text_column(
            "What they saw",
            lambda entry: FORMS.get(entry.form or "", "\u2013"),
            "whether the group was asked with the very same form",
        ),
    ]
    return tabulate("groups", "Who answered", fields, groups, csv="groups")


def _dropped(items: Sequence[StudyDroppedItem]) -> Fold:
    fields: list[Field[StudyDroppedItem]] = [
        text_column("Item", lambda item: shown_name(item.item_id)),
        text_column("Rule", lambda item: item.rule),
        text_column("What was found", lambda item: item.evidence or "\u2013"),
    ]
    return Fold(
        summary=f"{plural(len(items), 'item')} left out before anybody was asked",
        blocks=(
            Paragraph(text="The study file sets the conditions that an item must meet."),
            tabulate("dropped_items", "Items left out", fields, items),
        ),
    )
