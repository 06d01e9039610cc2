"""What was asked, of whom, and about what."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.answers.study_facts import StudyDroppedItem, StudyReport
from analysis.figures.plain_text import shown_name
from analysis.report.cells import cell
from analysis.report.document import Block, Column, Fold, Paragraph, Section, Table, Terms, build_table
from analysis.results.records import Results
from analysis.results.words import Names, count, listed, plural

ASKED = {
    "spa": "System-level probabilistic assessment (SPA): after reading, how likely is it that one system is better?",
    "likert": "Likert: each output is rated on a scale with a few steps.",
    "continuous": "Each output is rated from 0 to 100.",
    "category": "Each output is put into one of a few categories, each with its score.",
    "spans": "Error spans: the errors of each output are marked, each with its severity.",
    "choice": "Choice: which of two outputs is better?",
    "ranking": "Ranking: several outputs of one item are put in order, best first; ties are allowed.",
}
SHORT = {
    "spa": "SPA",
    "likert": "Likert",
    "continuous": "Ratings 0-100",
    "category": "Categories",
    "spans": "Error spans",
    "choice": "Choices",
    "ranking": "Rankings",
}
FORMS = {
    "identical": "the identical form",
    "variant": "a variant of the form",
}
BLIND = "No form named a system; annotators saw letters such as A and B, if any."
ROLES = {"human": "written or made by people", "reference": "reference, shown but not compared", "system": "system"}


def asked(results: Results) -> Section | None:
    """Describe the study, the questions and who answered."""
    study, names = results.study, Names(results)
    blocks: list[Block] = []
    appendix: list[Block] = []
    if study:
        told_apart = any(system.role != "system" for system in study.systems)
        facts = _facts(study) if told_apart else [*_facts(study), *_system_names(study, names)]
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


def _money(amount: str) -> str:
    """Return a price with two decimals, more only where it has more; "2.5" is "2.50"."""
    whole, _, cents = amount.partition(".")
    return f"{whole}.{cents.ljust(2, '0')}"


def _facts(study: StudyReport) -> list[tuple[str, str]]:
    facts = []
    asked_ways = [ASKED[way] for way in study.elicitations]
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


def _system_names(study: StudyReport, names: Names) -> list[tuple[str, str]]:
    shown = listed([names.system(system.id) for system in study.systems])
    return [("Systems", f"{shown}. {BLIND}")] if shown else []


def _systems(study: StudyReport, names: Names) -> Table | None:
    rows = [
        [
            cell(names.system(system.id)),
            cell(shown_name(system.id)),
            cell(ROLES.get(system.role, system.role)),
        ]
        for system in study.systems
    ]
    if not rows:
        return None
    if all(row[0].text == row[1].text for row in rows):
        rows = [[row[0], cell(""), row[2]] for row in rows]
    columns = [Column(title="System"), Column(title="Identifier"), Column(title="What it is")]
    return build_table(
        "systems",
        "Systems",
        columns,
        rows,
        [BLIND],
    )


def _questions(study: StudyReport, names: Names) -> Table | None:
    rows = [
        [
            cell(SHORT.get(question.elicitation, question.elicitation)),
            cell(names.criterion(question.criterion)),
            cell("lower is better" if question.criterion in names.lower_is_better else "higher is better"),
            cell(" ".join(question.text.split()), quoted=True),
        ]
        for question in study.questions
    ]
    if not rows:
        return None
    columns = [
        Column(title="Way of asking"),
        Column(title="Criterion"),
        Column(title="Scale"),
        Column(title="Question"),
    ]
    constant = ("Scale",) if not names.lower_is_better else ()
    notes = ["As one form asks it; letters and their order change from form to form."]
    return build_table("questions", "Questions", columns, rows, notes, constant=constant)


def _groups(results: Results, names: Names) -> Table | None:
    groups = results.groups
    if not groups:
        return None
    rows = [
        [
            cell(names.group(entry.group)),
            cell(count(entry.annotators)),
            cell(count(entry.assignments or None)),
            cell(count(entry.excluded_annotators)),
            cell(count(entry.excluded_assignments if entry.assignments else None)),
            cell(FORMS.get(entry.form or "", "\u2013")),
        ]
        for entry in groups
    ]
    columns = [
        Column(title="Group", explanation="annotators who are analysed together"),
        Column(title="Annotators", explanation="who sent answers, before exclusions", numeric=True),
        Column(title="Forms", explanation="forms they filled in, before exclusions", numeric=True),
        Column(title="Annotators excluded", numeric=True),
        Column(title="Forms excluded", numeric=True),
        Column(title="What they saw", explanation="whether the group was asked with the very same form"),
    ]
    return build_table("groups", "Who answered", columns, rows, csv="groups")


def _dropped(items: Sequence[StudyDroppedItem]) -> Fold:
    rows = [[cell(shown_name(item.item_id)), cell(item.rule), cell(item.evidence or "\u2013")] for item in items]
    columns = [Column(title="Item"), Column(title="Rule"), Column(title="What was found")]
    return Fold(
        summary=f"{plural(len(items), 'item')} left out before anybody was asked",
        blocks=(
            Paragraph(text="The study file sets the conditions that an item must meet."),
            build_table("dropped_items", "Items left out", columns, rows),
        ),
    )
