"""What closes a report: the plan, when it was fixed, its settings, what words mean, and how to cite."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from analysis import rooms
from analysis.answers.rescaling import rescaled_words
from analysis.comparisons.families_section import families
from analysis.contribution import Shown
from analysis.figures.plain_text import shown_name
from analysis.methods.bibliography import PAPERS, software
from analysis.printing.cells import cell
from analysis.printing.document import (
    Block,
    Bullets,
    Code,
    Column,
    Fold,
    Paragraph,
    Section,
    Terms,
    build_table,
)
from analysis.printing.levels import correction_paper, false_discoveries, rate_words
from analysis.printing.lookup import confidence_words
from analysis.printing.names import Names
from analysis.printing.words import listed, plural, sentence
from analysis.records.overview import Settings
from analysis.records.results import Results
from analysis.statistics.record import names_of
from analysis.verification.outcome import Verification

SETTINGS = {
    "fwer": "Error rate of the tests corrected together",
    "confidence": "Confidence of intervals",
    "consistency_tau": "Bound on self-contradiction",
    "family": "Tests corrected together",
    "correction": "Correction for several tests",
    "unit": "Unit of paired tests",
    "pairs": "Pairs compared",
    "pairs_from": "Pairs named by",
    "references": "References of the metrics",
    "rating_test": "Test of mean ratings",
    "seed": "Seed",
    "missing_codes": "Answers that mean no answer",
    "comparison_ends": "Numbers of comparisons that say that the first, or the second, is better",
    "rescaled": "Scores mapped onto another scale",
    "regularisation": "Regularisation of Bradley-Terry",
    "epsilon": "Epsilon of the alternative-annotator test",
    "max_failed_checks": "Failed attention checks allowed",
    "max_failed_controls": "Failed checks allowed, controls among them",
    "min_outputs_seen": "Smallest share of outputs that must be seen",
    "max_words_per_minute": "Fastest reading allowed (words a minute)",
    "max_same_answers": "Largest share of the same answer allowed",
    "post_screening": "Rules of listening tests that leave people out",
    "equivalence_margin": "Margin of equivalence (preferences and choices)",
    "equivalence_margin_ratings": "Margin of equivalence (ratings)",
    "williams_alternative": "Williams\u2019s tests",
    "williams_correction": "Correction of Williams\u2019s tests",
    "williams_criteria": "Criteria in the correction of Williams\u2019s tests",
    "control": "Held constant in further strengths",
    "compare_people_by": "Columns that people are compared by",
    "camps": "Two camps of people are looked for",
    "compare_people_least": "Least people of a subgroup that is shown",
    "repeat_submissions": "A person\u2019s second submission",
    "extra_answers": "Late submissions after reassignment",
    "incomplete_answers": "Incomplete submissions",
}
MEANINGS = {
    ("family", "criterion"): "those of one source, group and criterion",
    ("family", "all"): "those of one source and group, all criteria",
    ("correction", "holm"): "Holm (familywise error rate)",
    ("correction", "bh"): "Benjamini-Hochberg (false discovery rate)",
    ("williams_alternative", "greater"): "one-sided, the first measure against each other",
    ("williams_correction", "holm"): "Holm (familywise error rate)",
    ("williams_correction", "bh"): "Benjamini-Hochberg (false discovery rate)",
    ("williams_correction", "by"): "Benjamini-Yekutieli (false discovery rate under any dependence)",
    ("pairs_from", "study"): "the study",
    ("pairs_from", "named"): "the plan (--pair)",
    ("pairs_from", "preferences"): "the preferences",
    ("pairs_from", "expected"): "the expectations",
    ("unit", "auto"): "the annotator where there are at least 10, else the item",
    ("rating_test", "auto"): "paired where an annotator rated both systems on one item",
    ("rating_test", "welch"): "Welch\u2019s t over units, also where items are shared",
    ("repeat_submissions", "exclude"): "excludes the person",
    ("repeat_submissions", "first"): "is left out, the first counts",
    ("extra_answers", "exclude"): "are left out",
    ("extra_answers", "keep"): "count",
    ("incomplete_answers", "exclude"): "are left out",
    ("incomplete_answers", "keep"): "count",
}
SHOWN = ("fwer", "correction", "family", "unit", "consistency_tau", "seed")  # in the report; the appendix has all
OF_PREFERENCES = "consistency_tau"  # is not shown where no preference was asked
OF_CORRELATIONS = "williams_"  # nor these where no correlations were compared
OF_COMPARISONS = "comparison_ends"  # nor these where comparisons were no numbers
TOLERANCE = "1e-9"
APART = ("versions", "inputs")  # shown in another way


def settings(results: Results) -> Section | None:
    """List settings, versions and the files that the numbers come from."""
    chosen, means = results.settings, rate_words(results.settings)
    items = {
        key: (SETTINGS.get(key, key.replace("_", " ").capitalize()), _setting(key, getattr(chosen, key), means))
        for key in names_of(Settings)
        if key not in APART
        and (key != OF_COMPARISONS or chosen.comparison_ends is not None)
        and (results.comparisons_of_correlations or not key.startswith(OF_CORRELATIONS))
    }
    every = list(items.values())
    if chosen.versions:
        every.append(("Software", ", ".join(f"{name} {version}" for name, version in chosen.versions.items())))
    shown = [items[key] for key in SHOWN if results.preferences or key != OF_PREFERENCES]
    if (checked := results.verification) is not None:
        shown.append(("Computed again", verified_words(checked)))
        every += [("Computed again", verified_words(checked)), *not_recomputed(checked)]
    blocks: list[Block] = families(results.families, Shown(results, Names(results)))
    files = input_files(results)
    if files:
        columns = [Column(title="File"), Column(title="SHA-256", explanation="a fingerprint of its bytes")]
        rows = [[cell(shown_name(name)), cell(digest, quoted=True)] for name, digest in files]
        blocks.append(build_table("input_files", "Files read", columns, rows))
        said = [Column(title="File"), Column(title="How it was read")]
        noted = [[cell(shown_name(entry.file)), cell(note)] for entry in chosen.inputs for note in entry.notes]
        if noted:
            blocks.append(build_table("input_notes", "How files were read", said, noted))
    folded = Fold(summary="Every setting, the software and the files read", blocks=(Terms(items=tuple(every)), *blocks))
    return Section(
        id="settings",
        title="Settings",
        blocks=(Terms(items=tuple(shown)),),
        appendix=(folded,),
    )


def verified_words(verification: Verification) -> str:
    """Return "214 of 231 figures recomputed by scipy, statsmodels and choix: all within 1e-9".

    Figures are p-values, strengths and kappas.
    """
    by = f" by {listed([row.library for row in verification.libraries])}" if verification.libraries else ""
    different = f"{verification.n_different} differ by more than {TOLERANCE}"
    within = (
        f": {different if verification.n_different else f'all within {TOLERANCE}'}" if verification.recomputed else ""
    )
    return f"{verification.recomputed:,} of {verification.figures:,} p-values, strengths and kappas{by}{within}"


def not_recomputed(verification: Verification) -> list[tuple[str, str]]:
    """Return by which versions figures were computed again, and why others were not."""
    lines = []
    if verification.libraries:
        by = [f"{row.library} {row.version} ({row.recomputed:,})" for row in verification.libraries]
        lines.append(("Computed again by", ", ".join(by)))
    if verification.not_recomputed:
        why = [f"{row.n:,}: {row.reason}" for row in verification.not_recomputed]
        lines.append(("Not computed again", "; ".join(why)))
    return lines


def input_files(results: Results) -> list[tuple[str, str]]:
    """Return names and hashes of the input files."""
    return [(entry.file, str(entry.sha256)) for entry in results.settings.inputs]


def _setting(key: str, value: Any, means: str) -> str:
    if key == "pairs":
        return listed([f"{x} and {y}" for x, y in value]) if value else "every two systems"
    if value is None or value == ():
        return "none"
    if key == "fwer":
        return f"at most {100 * float(value):g}%: {means}"
    if key == "consistency_tau":
        return f"the two directions of a pair may add up to {100 * float(value):g}%"
    if isinstance(value, str) and (key, value) in MEANINGS:
        return MEANINGS[key, value]
    if key == "equivalence_margin":
        return f"within ±{100 * float(value):g} percentage points of 50%"
    if key == "equivalence_margin_ratings":
        return f"within ±{float(value):g} points of each other"
    if key == "confidence":
        return f"{100 * float(value):g}%"
    if key == "scales":
        return listed([f"{scale.criterion or 'every criterion'} {scale.low:g} to {scale.high:g}" for scale in value])
    if key == "rescaled":
        return listed([*rescaled_words(value)])
    if isinstance(value, tuple):
        return listed([str(part) for part in value])
    return str(value)


def cite(results: Results) -> Section | None:
    """Give BibTeX for the method, the statistics used and the software."""
    rated, chosen = results.ratings, results.choices
    papers = [PAPERS["ethayarajh-jurafsky-2022-authenticity"]]
    if results.preferences or rated.pairs or chosen.pairs:
        found = "benjamini-hochberg-1995-controlling" if false_discoveries(results.settings) else "holm-1979-simple"
        papers.append(PAPERS[found])
    if any(row.strength is not None for row in results.bradley_terry):
        papers.append(PAPERS["bradley-terry-1952-rank"])
    papers.append(software(results.settings.versions.get("spa-eval")))
    return Section(
        id="cite",
        title="How to cite",
        blocks=(
            Paragraph(text="Please cite the method, the statistics that this report uses, and the software."),
            Fold(
                summary=f"{plural(len(papers), 'entry', 'entries')} in BibTeX",
                blocks=(Code(text="\n\n".join(papers), language="bibtex"),),
            ),
        ),
    )


TERMS = (  # of the terms; others follow the last
    "System",
    "SPA",
    "Exposure",
    "n",
    "confidence interval",
    "p-value",
    "Adjusted p",
    "No clear preference",
    "Likert rating",
    "Win rate",
    "Strength",
    "Pairwise accuracy",
    "Kendall\u2019s tau",
)
WORDS = "What the words of this report mean, and how its numbers are made."


def glossary(results: Results) -> Section | None:
    """Explain in one line each what this report uses: its terms, then the conventions of its numbers."""
    terms = _terms(results)
    used = _used(results) | {one.term: one.used(results) for room in rooms.CONTRIBUTIONS for one in room.words}
    known = {term.casefold() for term, _ in terms}
    conventions = tuple(
        (sentence(" ".join(entry.term.split())), " ".join(entry.explanation.split()))
        for entry in results.conventions
        if entry.term.casefold() not in known and used.get(entry.term, True)
    )
    more: tuple[Block, ...] = (
        (Fold(summary="How the numbers are made", blocks=(Terms(items=conventions),)),) if conventions else ()
    )
    return Section(
        id="terms",
        title="Terms and conventions",
        blocks=(Paragraph(text=WORDS), Fold(summary="Terms", blocks=(Terms(items=tuple(terms)),)), *more),
    )


def _used(results: Results) -> dict[str, bool]:
    """Say of conventions that speak of one kind of answers or one method whether the report has any of it."""
    return {
        "stars": False,  # which no report prints
        "LLM p-values": any(group.annotator_kind == "llm" for group in results.groups),
        "missing": bool(results.missing),
    }


def _terms(results: Results) -> list[tuple[str, str]]:
    confidence = confidence_words(results)
    terms = {
        "System": "a program or a person whose outputs are compared.",
        "n": "how many annotators (or items, or forms of an LLM) a number rests on.",
        f"{confidence} confidence interval": "a range made by a method that catches the true value in "
        f"{confidence} of studies like this one.",
        "p-value": "how often chance alone would give so large a difference if there were none; small means hard to "
        "explain by chance.",
        "Adjusted p": "the p-value made larger to allow for the number of tests "
        f"({correction_paper(results.settings)}); "
        + ("only this one decides a verdict." if results.live is None else "it decides nothing in a live study."),
        "No clear preference": "the test found no difference; the systems may still differ by a little.",
    }
    terms |= {one.term: one.text for room in rooms.CONTRIBUTIONS for one in room.terms if one.used(results)}
    place = {term: number for number, term in enumerate(TERMS)}
    return sorted(terms.items(), key=lambda each: place.get(each[0].removeprefix(f"{confidence} "), len(place)))


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
