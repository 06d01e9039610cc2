"""Whose answers do not count, why, and which answers are missing."""

from __future__ import annotations

from collections import Counter

from analysis.agreement.reviewers import ReviewAgreement
from analysis.figures.plain_text import shown_name
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Column, Fold, Paragraph, Section, Table, build_table
from analysis.printing.lookup import confidence_words
from analysis.printing.names import Names
from analysis.printing.words import interval, number, plural, rule_name, sentence
from analysis.records.overview import CarelessCount, CarelessSignCount, CarelessSignRow, ExclusionRow, MissingCount
from analysis.records.results import Results
from analysis.results.sign_words import excluded_words, sign_title

RULES = {
    "self_consistency": "the chances given to the two directions of one pair add up to more than the bound allows",
    "screening": "gave no eligible answer to a screening question",
    "attention_checks": "failed more attention checks than the study allows",
    "repeat_submissions": "took part more than once",
    "extra_answers": "came too late, when the place had been given to somebody else, or the study had passed over it",
    "incomplete_answers": "did not finish the form",
    "ended_early": "the form ended before its last page",
    "outputs_seen": "saw fewer of the outputs shown than the study asks for",
    "reading_speed": "read faster than the study allows",
    "relative_speed": "read faster than so many times the usual speed that the study allows",
    "same_answers": "gave one and the same answer to more questions than the study allows",
    "hidden_reference": "rated the hidden reference below 90 in more than 15% of their own items (BS.1534-3)",
    "mid_anchor": "rated the 7 kHz anchor above 90 in more than 15% of their own items that count (BS.1534-3)",
    "constant_votes": "votes with a variance below 0.1 (P.808)",
    "review": "left out by a reviewer, who noted why",
}

QUESTIONS = {"payment": "approve or reject", "analysis": "leave out or keep"}
BOUNDS = {
    "outputs_seen": "least share of outputs:",
    "reading_speed": "most words a minute:",
    "relative_speed": "most times the usual speed:",
    "same_answers": "largest share of one answer:",
}


def excluded(results: Results) -> Section | None:
    """Count exclusions by rule and group; the evidence of each stands in a fold."""
    names, exclusions, missing = Names(results), results.exclusions, results.missing
    if not (exclusions or missing or results.careless or results.reviewers or results.careless_signs):
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
        appendix += (Fold(summary=summary, blocks=(_evidence(results, names),)),)
    else:
        blocks.append(Paragraph(text="Nobody was excluded."))
    if results.careless:
        blocks.append(_careless(results, names))
    if results.careless_signs:
        blocks.append(_signs(results, names))
        summary = f"Evidence for {plural(len(results.careless_signs), 'sign')} of careless answering"
        appendix += (Fold(summary=summary, blocks=(_sign_evidence(results, names),)),)
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
    fields: list[Field[CarelessCount]] = [
        text_column("Rule", lambda row: rule_name(row.rule)),
        text_column("Declared", lambda row: f"{BOUNDS[row.rule]} {row.bound:,g}"),
        text_column("Group", lambda row: names.group(row.group)),
        number_column("Annotators", lambda row: f"{row.annotators:,}"),
        number_column("Not checkable", lambda row: f"{row.not_checkable:,}", "too little to judge by: kept"),
        number_column("Excluded", lambda row: f"{row.excluded:,}"),
    ]
    return tabulate("careless", "Rules of careless answering, declared beforehand", fields, results.careless)


def _signs(results: Results, names: Names) -> Table:
    settings = results.settings
    fields: list[Field[CarelessSignCount]] = [
        text_column("Sign", lambda row: sentence(sign_title(row.sign, settings, row.bound))),
        text_column("Bound", lambda row: "declared" if row.declared else "default"),
        text_column("Group", lambda row: names.group(row.group)),
        number_column("Annotators", lambda row: f"{row.annotators:,}"),
        number_column("Not checkable", lambda row: f"{row.not_checkable:,}", "too little to judge by"),
        number_column("Show it", lambda row: f"{row.shown:,}"),
        number_column(
            "Excluded", lambda row: f"{row.excluded:,}", "of those who show it, by whatever rule of the plan"
        ),
    ]
    notes = [
        "A sign excludes nobody, and does not affect pay: only rules that the plan declares exclude.",
        "Reading speed is by the time on screen and by the server\u2019s clock, beside the usual silent speed of each "
        "text\u2019s script. The same answer is no sign where others gave it to half of their questions or more.",
    ]
    return tabulate("careless_signs", "Signs of careless answering", fields, results.careless_sign_counts, notes)


def _sign_evidence(results: Results, names: Names) -> Table:
    fields: list[Field[CarelessSignRow]] = [
        text_column("Annotator", lambda row: shown_name(row.annotator_id)),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Sign", lambda row: rule_name(row.sign)),
        text_column("Evidence", lambda row: row.evidence),
        text_column("Excluded", lambda row: excluded_words([row])),
    ]
    caption = "Evidence for each sign of careless answering"
    return tabulate("sign_evidence", caption, fields, results.careless_signs, constant=("Group",), csv="careless_signs")


def _reviewers(results: Results) -> Table:
    level = confidence_words(results)
    fields: list[Field[ReviewAgreement]] = [
        text_column("Question", lambda row: QUESTIONS[row.question]),
        text_column("Reviewers", lambda row: " and ".join(row.reviewers)),
        number_column("Submissions", lambda row: f"{row.n:,}", "both decided, neither seeing the other"),
        number_column("Alike", lambda row: f"{row.alike:,}"),
        number_column(
            "Cohen\u2019s kappa",
            lambda row: cell(number(row.kappa), detail=interval(row.kappa_low, row.kappa_high)),
            f"with the {level} confidence interval",
        ),
        number_column(
            "AC1",
            lambda row: cell(number(row.ac1), detail=interval(row.ac1_low, row.ac1_high)),
            f"Gwet\u2019s, with the {level} confidence interval",
        ),
        number_column("Settled by a third", lambda row: f"{row.adjudicated:,}"),
        number_column("Open", lambda row: f"{row.conflicts:,}", "no decision is executed"),
    ]
    caption = "Two reviewers of the same submissions"
    return tabulate("reviewers", caption, fields, results.reviewers, constant=("Reviewers",), csv="reviewers")


def _evidence(results: Results, names: Names) -> Table:
    fields: list[Field[ExclusionRow]] = [
        text_column("Annotator", lambda row: shown_name(row.annotator_id)),
        text_column("Form", lambda row: shown_name(row.assignment_id) if row.assignment_id is not None else "all"),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Rule", lambda row: rule_name(row.rule)),
        text_column("Evidence", lambda row: " ".join((row.evidence or "no evidence was recorded").split())),
    ]
    return tabulate(
        "exclusion_evidence", "Evidence for each exclusion", fields, results.exclusions, constant=("Group",)
    )


def _missing(results: Results, names: Names) -> Table:
    fields: list[Field[MissingCount]] = [
        text_column("Question type", lambda row: sentence(names.source(row.source))),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion) if row.criterion else "\u2013"),
        text_column("Reason", lambda row: " ".join(row.reason.split())),
        text_column("Would have been", lambda row: row.level or "\u2013", "where that can be determined"),
        number_column("Answers", lambda row: f"{row.n:,}"),
    ]
    return tabulate(
        "missing",
        "Answers that are missing",
        fields,
        results.missing,
        ["Nothing was filled in for a missing answer."],
        csv="missing",
        weights=tuple(-row.n for row in results.missing),
        weighed_by="the most answers",
    )
