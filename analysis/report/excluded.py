"""Whose answers do not count, why, and which answers are missing."""

from __future__ import annotations

from collections import Counter

from analysis.figures.plain_text import shown_name
from analysis.report.cells import cell
from analysis.report.document import Block, Column, Fold, Paragraph, Section, Table, build_table
from analysis.results.findings import confidence_words
from analysis.results.records import Results
from analysis.results.words import Names, interval, number, plural, rule_name, sentence

RULES = {
    "self_consistency": "the chances given to the two directions of one pair add up to more than the bound allows",
    "screening": "gave no eligible answer to a screening question",
    "attention_checks": "failed more attention checks than the study allows",
    "repeat_submissions": "took part more than once",
    "extra_answers": "came too late, when the place had been given to somebody else",
    "incomplete_answers": "did not finish the form",
    "ended_early": "the form ended before its last page",
    "outputs_seen": "saw fewer of the outputs shown than the study asks for",
    "reading_speed": "read faster than the study believes",
    "same_answers": "gave one and the same answer to more questions than the study allows",
    "review": "left out by a reviewer, who noted why",
}

QUESTIONS = {"payment": "approve or reject", "analysis": "leave out or keep"}
BOUNDS = {
    "outputs_seen": "least share of outputs:",
    "reading_speed": "most words a minute:",
    "same_answers": "largest share of one answer:",
}


def excluded(results: Results) -> Section | None:
    """Count exclusions by rule and group; the evidence of each stands in a fold."""
    names, exclusions, missing = Names(results), results.exclusions, results.missing
    if not exclusions and not missing and not results.careless and not results.reviewers:
        return None
    blocks: list[Block] = []
    appendix: tuple[Block, ...] = ()
    if exclusions:
        blocks += [
            Paragraph(
                text="An exclusion takes answers out of the analysis; it is not a decision about pay. "
                "Every excluded answer is kept in the data."
            ),
            _counts(results, names),
        ]
        summary = f"Evidence for {plural(len(exclusions), 'exclusion')}"
        appendix = (Fold(summary=summary, blocks=(_evidence(results, names),)),)
    else:
        blocks.append(Paragraph(text="Nobody was excluded."))
    if results.careless:
        blocks.append(_careless(results, names))
    if results.reviewers:
        blocks.append(_reviewers(results))
    if missing:
        blocks.append(_missing(results, names))
    return Section(
        id="excluded", title="Who was excluded, and what is missing", blocks=tuple(blocks), appendix=appendix
    )


def _counts(results: Results, names: Names) -> Table:
    tally = Counter((row.rule, row.group, row.assignment_id is None) for row in results.exclusions)
    rows = [
        [
            cell(rule_name(rule)),
            cell(names.group(group)),
            cell("the annotator, with all answers" if whole else "one form"),
            cell(f"{number_of:,}"),
        ]
        for (rule, group, whole), number_of in tally.items()
    ]
    columns = [
        Column(title="Rule"),
        Column(title="Group"),
        Column(title="What was excluded"),
        Column(title="How many", numeric=True),
    ]
    present = {row.rule.replace("-", "_").replace(" ", "_") for row in results.exclusions}
    notes = [f"{sentence(rule_name(rule))}: {words}." for rule, words in RULES.items() if rule in present]
    return build_table("exclusions", "Exclusions by rule", columns, rows, notes)


def _careless(results: Results, names: Names) -> Table:
    rows = [
        [
            cell(rule_name(row.rule)),
            cell(f"{BOUNDS[row.rule]} {row.bound:,g}"),
            cell(names.group(row.group)),
            cell(f"{row.annotators:,}"),
            cell(f"{row.not_checkable:,}"),
            cell(f"{row.excluded:,}"),
        ]
        for row in results.careless
    ]
    columns = [
        Column(title="Rule"),
        Column(title="Declared"),
        Column(title="Group"),
        Column(title="Annotators", numeric=True),
        Column(title="Not checkable", explanation="too little to judge by: kept", numeric=True),
        Column(title="Excluded", numeric=True),
    ]
    return build_table("careless", "Rules of careless answering, declared beforehand", columns, rows)


def _reviewers(results: Results) -> Table:
    level = confidence_words(results)
    columns = [
        Column(title="Question"),
        Column(title="Reviewers"),
        Column(title="Submissions", explanation="both decided, neither seeing the other", numeric=True),
        Column(title="Alike", numeric=True),
        Column(title="Cohen\u2019s kappa", explanation=f"with the {level} interval", numeric=True),
        Column(title="AC1", explanation=f"Gwet\u2019s, with the {level} interval", numeric=True),
        Column(title="Settled by a third", numeric=True),
        Column(title="Open", explanation="no decision is executed", numeric=True),
    ]
    rows = [
        [
            cell(QUESTIONS[row.question]),
            cell(" and ".join(row.reviewers)),
            cell(f"{row.n:,}"),
            cell(f"{row.alike:,}"),
            cell(number(row.kappa), detail=interval(row.kappa_low, row.kappa_high)),
            cell(number(row.ac1), detail=interval(row.ac1_low, row.ac1_high)),
            cell(f"{row.adjudicated:,}"),
            cell(f"{row.conflicts:,}"),
        ]
        for row in results.reviewers
    ]
    caption = "Two reviewers of the same submissions"
    return build_table("reviewers", caption, columns, rows, constant=("Reviewers",), csv="reviewers")


def _evidence(results: Results, names: Names) -> Table:
    rows = [
        [
            cell(shown_name(row.annotator_id)),
            cell(shown_name(row.assignment_id) if row.assignment_id is not None else "all"),
            cell(names.group(row.group)),
            cell(rule_name(row.rule)),
            cell(" ".join((row.evidence or "no evidence was recorded").split())),
        ]
        for row in results.exclusions
    ]
    columns = [
        Column(title="Annotator"),
        Column(title="Form"),
        Column(title="Group"),
        Column(title="Rule"),
        Column(title="Evidence"),
    ]
    return build_table("exclusion_evidence", "Evidence for each exclusion", columns, rows, constant=("Group",))


def _missing(results: Results, names: Names) -> Table:
    levels = any(row.level for row in results.missing)
    rows = [
        [
            cell(sentence(names.source(row.source))),
            cell(names.group(row.group)),
            cell(names.criterion(row.criterion) if row.criterion else "\u2013"),
            cell(" ".join(row.reason.split())),
            *([cell(row.level or "\u2013")] if levels else []),
            cell(f"{row.n:,}"),
        ]
        for row in results.missing
    ]
    columns = [
        Column(title="Question type"),
        Column(title="Group"),
        Column(title="Criterion"),
        Column(title="Reason"),
        *([Column(title="Would have been", explanation="where that can be determined")] if levels else []),
        Column(title="Answers", numeric=True),
    ]
    return build_table(
        "missing",
        "Answers that are missing",
        columns,
        rows,
        ["Nothing was filled in for a missing answer."],
        csv="missing",
        weights=tuple(-row.n for row in results.missing),
        weighed_by="the most answers",
    )
