"""Whether preferences along triples of systems fit together."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.preference_checks.coherence import CoherenceRow
from analysis.report.cells import Field, number_column, tabulate, text_column
from analysis.report.document import Block, Bullets, Fold, Heading, Paragraph, Table
from analysis.report.families import correction_name
from analysis.results.findings import confidence_words
from analysis.results.records import Results
from analysis.results.words import Names, count, interval, number, p_value, percent, plural, share_interval, signed

LISTED = 40  # triples in the table
MEANING = (
    "Who prefers A to B and B to C should prefer A to C (weak transitivity), and at least as strongly as the "
    "stronger of the two (strong transitivity). Bradley-Terry asks for more: the odds of A over C are the product of "
    "the other two. The discrepancy is stated minus implied log odds, 0 where they agree and below 0 where A over C is "
    "stated nearer to even than the two steps imply; answers of 0 or 100% have no "
    "odds and are left out of it. A single annotator who rounds or is unsure breaks these rules now and then; many "
    "who do show that the three pairs were not judged on one scale."
)


def coherence_blocks(results: Results, names: Names) -> list[Block]:
    """Report the share of incoherent annotators and the triples; nothing where there are not three systems."""
    rows = results.coherence
    if not rows:
        return []
    together = [row for row in rows if row.system_a is None]
    triples = [row for row in rows if row.system_a is not None]
    blocks: list[Block] = [
        Heading(text="Do preferences along three systems fit together?"),
        Paragraph(text=MEANING),
        Bullets(items=tuple(_words(row, names) for row in together)),
    ]
    if not triples:
        return [blocks[0], blocks[2]]
    table = _table(triples[:LISTED], names, results)
    more = f" (the first {LISTED} of {len(triples):,})" if len(triples) > LISTED else ""
    return [*blocks, Fold(summary=f"Each triple of systems{more}", blocks=(table,))]


def _words(row: CoherenceRow, names: Names) -> str:
    what = f"{names.group(row.group)}, {names.criterion(row.criterion)}"
    what += "" if row.exposure is None else f", {plural(row.exposure, 'output')} read"
    if not row.n_triples:
        return f"{what}: not checked, {row.reason}."
    between = share_interval(row.weak_low, row.weak_high)
    return (
        f"{what}: of {row.n:,} who judged all pairs of three systems, {percent(row.share_weak)} (interval "
        f"{between}) break weak transitivity at least once in {plural(row.n_triples, 'triple')}, "
        f"{percent(row.share_strong)} strong transitivity."
    )


def _table(rows: Sequence[CoherenceRow], names: Names, results: Results) -> Table:
    fields: list[Field[CoherenceRow]] = [
        text_column(
            "Systems A, B, C",
            lambda row: ", ".join(
                names.system(system) for system in (row.system_a, row.system_b, row.system_c) if system
            ),
            "the most preferred of the three first",
        ),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Outputs read", lambda row: count(row.exposure)),
        number_column("n", lambda row: count(row.n)),
        number_column("Weak broken", lambda row: percent(row.share_weak), "share of annotators"),
        number_column("Strong broken", lambda row: percent(row.share_strong), "share of annotators"),
        number_column("n with odds", lambda row: count(row.n_discrepancy), "those without an answer of 0 or 100%"),
        number_column(
            "Discrepancy", lambda row: signed(row.mean_discrepancy), "mean of stated minus implied log odds of A over C"
        ),
        number_column(f"{confidence_words(results)} interval", lambda row: interval(row.ci_low, row.ci_high)),
        number_column(
            "Adjusted p",
            lambda row: p_value(row.p_adjusted),
            f"of no discrepancy, corrected for all triples ({correction_name(results)})",
        ),
        number_column("Of the means", _of_means, "the same from the group\u2019s three mean answers"),
    ]
    caption = "Coherence of triples"
    return tabulate("coherence", caption, fields, rows, constant=("Criterion", "Outputs read"))


def _of_means(row: CoherenceRow) -> str:
    broken = "weak broken" if row.group_weak else "strong broken" if row.group_strong else "coherent"
    if row.group_discrepancy is None:
        return broken
    return f"{number(row.group_discrepancy)} ({broken})"
