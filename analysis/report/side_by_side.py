"""SPA, ratings, choices, people and LLMs side by side: where they agree, where not, what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.answers.live_rows import LiveVerdict
from analysis.comparisons.disagreements import Disagreement
from analysis.comparisons.preferences_section import LIVE_LLM_NOTE, LLM_NOTE
from analysis.contribution import Shown
from analysis.printing.cells import Field, cell, estimate, number_column, tabulate, text_column, titled
from analysis.printing.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
    Tone,
    build_table,
)
from analysis.printing.lookup import PairResult, by_criterion, opened, pair_results
from analysis.printing.names import Names
from analysis.printing.pictures import everyone
from analysis.printing.words import NONE, interval, listed, number, p_words, plural, sentence
from analysis.ranking.agreement import RankingAgreement
from analysis.ranking.compared_section import rankings_compared
from analysis.records.results import Results
from analysis.statistics.corrections import Verdict
from analysis.statistics.record import Source

ORDER: tuple[Source, ...] = ("preferences", "ratings", "choices")
MOST_LINES = 12  # disagreements shown at once
REVERSAL = (
    "Why ratings and SPA can differ: a mean rating treats the steps of a scale as equally wide and as the same for "
    "everybody. Where that does not hold, averaging can reverse a preference that every annotator shares "
    "(Ethayarajh & Jurafsky, 2022). SPA asks for the preference between the systems directly, so that nothing has to "
    "be added up across outputs. Where both are clear and opposite, the SPA result is the safer answer to \u201cwhich "
    "system is preferred?\u201d; where only one is clear, more annotators may settle it."
)


def side_by_side(results: Results) -> Section | None:
    """Compare what each source and group says of each pair."""
    names = Names(results)
    found = [entry for source in ORDER for entry in pair_results(results, source)]
    columns = list(dict.fromkeys((entry.source, entry.test.group) for entry in found))
    if len(columns) < 2:
        return None
    counts = "Only corrected tests count." if results.live is None else "Only decisions of the live study count."
    blocks: list[Block] = [
        Paragraph(text=f"Each row is a pair of systems, each column a way of asking one group. {counts}")
    ]
    criteria, who = by_criterion(found, lambda entry: entry.test.criterion), everyone(results, names)
    for criterion, own in criteria.items():
        table = matrix(own, names, criterion, len(criteria) > 1, who=who)
        if table is not None and criterion not in opened([*criteria]):
            blocks.append(Fold(summary=sentence(names.criterion(criterion)), blocks=(table,)))
        elif table is not None:
            blocks.append(table)
    if len(blocks) == 1:
        return None
    blocks += _disagreements(results, names)
    blocks += _explanations(columns, names, results.live is not None)
    blocks += _variants(results, names)
    taus = results.ranking_agreement
    blocks += rankings_compared(results.rankings, taus, results.ranking_differences, Shown(results, names))
    if taus:
        blocks += [Heading(text="Do the rankings agree?"), *_rankings_agree(names, taus)]
    return Section(id="comparison", title="Side by side: do they agree?", blocks=tuple(blocks))


def matrix(
    results: Sequence[PairResult], names: Names, criterion: str, several: bool, *, who: str = ""
) -> Table | None:
    """Return the table of pairs by sources; None where fewer than two sources judged this criterion.

    ``who`` is counted under it.
    """
    sources = list(dict.fromkeys((entry.source, entry.test.group) for entry in results))
    if len(sources) < 2:
        return None
    by_pair: dict[tuple[str, str, int | None], dict[tuple[str, str], PairResult]] = {}
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    exposures = [entry.exposure for entry in results if entry.source == "preferences"]
    for entry in results:
        x, y = pairs.setdefault(frozenset((entry.x, entry.y)), (entry.x, entry.y))
        for exposure in [entry.exposure] if entry.source == "preferences" else dict.fromkeys(exposures or [None]):
            by_pair.setdefault((x, y, exposure), {})[entry.source, entry.test.group] = entry
    several_exposures = len(set(exposures)) > 1
    rows = []
    for (x, y, exposure), judged in by_pair.items():
        label = f"{names.system(x)} and {names.system(y)}"
        seen = f"{plural(exposure, 'output')} read" if several_exposures and exposure is not None else ""
        rows.append(
            [
                cell(label, detail=seen),
                *(_verdict_cell(judged.get(source), names, x) for source in sources),
                _same(judged),
            ]
        )
    columns = [Column(title="Pair"), *(Column(title=sentence(names.source_by_group(*source))) for source in sources)]
    undecided = "undecided" if all(entry.test.decision is None for entry in results) else "equal"
    notes = [
        f"> the first of the pair is better, < the second is better, ~ {undecided}. Below it the mean (SPA: "
        f"chance that the first is better; ratings, {names.direction(criterion)}: difference of the means; choices: "
        "share of wins).",
    ]
    if who:
        notes.append(f"n: {who}.")
    if any(entry.test.decision == "not_deciding" for entry in results):
        notes.append("An estimate alone: not what the study decided.")
    return build_table(
        *titled("comparison", "What each way of asking says of each pair", names, criterion, several=several),
        [*columns, Column(title="Do they agree?")],
        rows,
        notes,
    )


UNDECIDED: dict[LiveVerdict | None, Tone] = {"open": "even", "futile": "even", "not_deciding": "untested"}


def _verdict_cell(entry: PairResult | None, names: Names, x: str) -> Cell:
    if entry is None:
        return Cell(text="not asked", known=False)
    decision = entry.test.decision
    if decision in UNDECIDED:
        return Cell(
            text=estimate(entry, turn=entry.x != x) or NONE,
            detail=str(entry.test.reason or ""),
            tone=UNDECIDED[decision],
        )
    if entry.test.verdict is None:
        return Cell(
            text="? not tested" if entry.test.p_value is None else "? no verdict",
            detail=str(entry.test.reason or "no reason was recorded"),
            tone="untested",
        )
    value = estimate(entry, turn=entry.x != x)
    if entry.winner is None:
        text = "~ undecided" if decision is None else "~ equal"
        return Cell(text=text, detail=value, brief=f"~ {value}", tone="even")
    symbol = ">" if entry.winner == x else "<"
    return Cell(
        text=f"{symbol} {names.system(entry.winner)} better",
        detail=value,
        brief=f"{symbol} {value}",
        tone="clear",
    )


def _same(judged: Mapping[tuple[str, str], PairResult]) -> Cell:
    verdicts = {entry.winner or "" for entry in judged.values() if entry.test.verdict is not None}
    asked = sum(entry.test.verdict is not None for entry in judged.values())
    neither = "undecided" if all(entry.test.decision is None for entry in judged.values()) else "equal"
    if asked < 2:
        return Cell(text="nothing to compare", known=False)
    if len(verdicts) == 1:
        return Cell(text="yes" if verdicts != {""} else f"all {neither}", tone="plain" if verdicts != {""} else "even")
    if len(verdicts - {""}) == 2:
        return Cell(text="no: opposite", tone="clear")
    undecided = sum(entry.test.verdict == "indifferent" for entry in judged.values())
    return Cell(text=f"{neither}: {undecided} of {asked}", tone="even")


def _disagreements(results: Results, names: Names) -> list[Block]:
    entries = results.disagreements
    if not entries:
        same = "Every pair has the same verdict by all of them."
        if results.live is not None:
            same = "No pair has two different decisions; what is open, futile or decides nothing has none."
        return [Heading(text="Where they disagree"), Paragraph(text=same)]
    several = len({entry.criterion for entry in entries}) > 1
    exposures = {row.exposure for row in results.preferences}
    neither = neither_better(results)
    items = tuple(_disagreement(entry, names, several, len(exposures) > 1, neither) for entry in entries)
    opposite = sum({"x", "y"} <= {verdict.verdict for verdict in entry.verdicts} for entry in entries)
    summary = f"On {plural(opposite, 'pair') if opposite else 'no pair'} two clear results are opposite."
    rest = len(entries) - opposite
    if rest and results.live is not None:
        summary += f" On {plural(rest, 'pair')} one finds a better system and another that the two are equal."
    elif rest:
        summary += (
            f" On {plural(rest, 'pair')} some are clear and others undecided: an undecided result neither confirms nor "
            "contradicts a clear one."
        )
    each: Block = Bullets(items=items)
    if len(items) > MOST_LINES:
        each = Fold(summary=f"Each of the {plural(len(items), 'pair')}", blocks=(each,))
    return [Heading(text="Where they disagree"), Paragraph(text=summary), each]


def neither_better(results: Results) -> str:
    """Return what is said of a pair of which neither system is found to be better."""
    return "undecided" if results.live is None else "equal"


def verdict_words(entry: Disagreement, names: Names, neither: str) -> dict[Verdict, str]:
    """Word each verdict on a pair."""
    return {
        "x": f"{names.system(entry.system_x)} is better",
        "y": f"{names.system(entry.system_y)} is better",
        "indifferent": neither,
    }


def _disagreement(entry: Disagreement, names: Names, several: bool, exposures: bool, neither: str) -> str:
    sources: dict[Verdict, list[str]] = {}
    for verdict in entry.verdicts:
        seen = verdict.exposure if exposures else None
        facts = [plural(seen, "output") + " read"] if seen else []
        source = names.source_by_group(verdict.source, verdict.group)
        facts += [p_words(verdict.p_adjusted)] if verdict.p_adjusted is not None else []
        shown = f"{source} ({', '.join(facts)})" if facts else source
        sources.setdefault(verdict.verdict, []).append(shown)
    words = verdict_words(entry, names, neither)
    about = f" ({names.criterion(entry.criterion)})" if several else ""
    parts = [f"{words[key]} by {listed(sources[key])}" for key in words if key in sources]
    return f"{names.against(entry)}{about}: {'; '.join(parts)}."


def _explanations(columns: Sequence[tuple[str, str]], names: Names, live: bool) -> list[Block]:
    blocks: list[Block] = []
    sources = {source for source, _ in columns}
    llms = any(names.kind(group) == "llm" for _, group in columns)
    if {"preferences", "ratings"} <= sources:
        blocks.append(Paragraph(text=REVERSAL))
    if llms:
        note = LIVE_LLM_NOTE if live else LLM_NOTE
        blocks.append(
            Paragraph(
                text=f"{note} Where people and an LLM differ, the study is about people\u2019s preferences, so "
                "theirs stand; the LLM cannot replace people on that pair."
            )
        )
    return [Fold(summary="What a disagreement means", blocks=tuple(blocks))] if blocks else []


def _variants(results: Results, names: Names) -> list[Block]:
    groups = [names.group(entry.group) for entry in results.groups if entry.form == "variant"]
    if not groups:
        return []
    return [
        Paragraph(
            text=f"{listed(groups)} answered a variant of the form, so the questions were not word for word those of "
            "the others. A difference may come from the wording."
        )
    ]


def _rankings_agree(names: Names, rows: Sequence[RankingAgreement]) -> list[Block]:
    """Show the rankings that people read; those of ratings taken as comparisons are opened on demand."""
    shown: list[RankingAgreement] = []
    apart: list[RankingAgreement] = []
    for row in rows:
        (apart if row.a.startswith("ratings_bt:") or row.b.startswith("ratings_bt:") else shown).append(row)
    blocks: list[Block] = []
    if shown:
        blocks.append(Paragraph(text=_tau_range(shown)))
        inner = (_kendall(names, shown, "ranking_agreement"),)
        blocks.append(Fold(summary=f"Each two rankings ({len(shown)})", blocks=inner))
    if apart:
        inner = (_kendall(names, apart, "ranking_agreement_ratings"),)
        blocks.append(Fold(summary="With the rankings from ratings taken as comparisons", blocks=inner))
    return blocks


def _tau_range(rows: Sequence[RankingAgreement]) -> str:
    known = [row.kendall_tau for row in rows if row.kendall_tau is not None]
    if not known:
        return "No two rankings can be compared."
    low, high = number(min(known)), number(max(known))
    span = low if low == high else f"between {low} and {high}"
    clear = sum(row.kendall_tau is not None and row.ci_low is not None and row.ci_low > 0 for row in rows)
    return (
        f"Kendall\u2019s tau (1 is the same order, \u22121 the reverse) is {span} for "
        f"{plural(len(known), 'comparison')} of two rankings; the interval of {clear} lies above 0."
    )


def _kendall(names: Names, rows: Sequence[RankingAgreement], name: str) -> Table:
    fields: list[Field[RankingAgreement]] = [
        text_column("Ranking", lambda row: sentence(names.joined(row.a))),
        text_column("Compared with", lambda row: sentence(names.joined(row.b))),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column(
            "Kendall\u2019s tau",
            lambda row: number(row.kendall_tau),
            "1 = same order, 0 = unrelated, \u22121 = reversed",
        ),
        number_column(
            "Confidence interval",
            lambda row: interval(row.ci_low, row.ci_high),
            "from resampled answers; see the conventions",
        ),
        text_column("Note", _note, "what was drawn for the interval, or why there is none"),
    ]
    return tabulate(name, "Agreement between rankings", fields, rows, constant=("Criterion",))


def _note(row: RankingAgreement) -> str:
    unknown = "no reason was recorded" if row.kendall_tau is None else "\u2013"
    return str(row.reason or row.interval or unknown)
