"""The answer in a few plain sentences, and every ranking beside the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.report.document import Block, Bullets, Column, Paragraph, Results, Section, Table, build_table
from analysis.report.findings import (
    SHARES,
    Finding,
    agreement_with,
    findings,
    first_criteria,
    leader,
    main_group,
    main_source,
    pair_findings,
    rank_of,
)
from analysis.report.words import Names, cell, interval, listed, number, p_words, percent, plural, sentence

MOST_RANKINGS = 12  # columns that a reader can still compare
CLAIMS = {"preferences": "{who} prefer {best} to {other}", "choices": "{who} choose {best} over {other}"}


def headline(results: Results) -> Section | None:
    """Say which system is preferred, by whom, how sure this is, and whether other ways of asking agree."""
    source, names = main_source(results), Names(results)
    if source is None:
        return None
    group, criteria = main_group(results, source), first_criteria(results, source)
    blocks: list[Block] = []
    if len(criteria) == 1:
        blocks.append(Paragraph(text=_claim(results, names, source, group, criteria[0]), weight="headline"))
    else:
        blocks.append(Paragraph(text=f"{sentence(names.group(group))} were asked about {len(criteria)} criteria."))
        blocks.append(
            Bullets(
                items=tuple(
                    f"{sentence(names.criterion(criterion))}: {_claim(results, names, source, group, criterion)}"
                    for criterion in criteria
                )
            )
        )
    blocks.extend(Paragraph(text=text) for text in _others(results, names, source, group, criteria))
    if names.kind(group) == "simulated":
        blocks.append(
            Paragraph(
                text="These annotators are simulated: the numbers show how the method works, not what people think.",
                weight="warning",
            )
        )
    ranking = _ranking_table(results, names, criteria)
    return Section(id="answer", title="The answer", blocks=(*blocks, *([ranking] if ranking else [])))


def _claim(results: Results, names: Names, source: str, group: str, criterion: str) -> str:
    """Return one or two sentences on the best system of one source, group and criterion."""
    tested = [found for found in findings(results, source) if found.group == group and found.criterion == criterion]
    who = sentence(names.group(group))
    if not any(found.verdict for found in tested):
        reason = next((found.row.get("reason") for found in tested if found.row.get("reason")), None)
        return f"The answers of {names.group(group)} allow no test{f' ({reason})' if reason else ''}."
    clear = [found for found in tested if found.verdict in ("x", "y")]
    if not clear:
        closest = min(tested, key=lambda found: found.row.get("p_adjusted") or 1.0)
        return (
            f"{who} show no clear preference in any of the {plural(len(tested), 'comparison')}; nearest to one is "
            f"{_evidence(closest, names)}. This does not prove the systems equal."
        ).replace("any of the 1 comparison", "the one comparison")
    best, runner_up = leader(results, source, group, criterion, tested)
    lines = []
    if best is not None:
        lines.append(_leading(best, runner_up, names, source, who))
    else:
        lines.append(_evidence_sentence(max(clear, key=_margin), names, source, who))
    if len(tested) > 1:
        lines.append(
            f"Of the {len(tested)} comparisons, {len(clear)} {'shows' if len(clear) == 1 else 'show'} a clear difference."
        )
    return " ".join(lines)


def _leading(best: str, against: Finding | None, names: Names, source: str, who: str) -> str:
    """Return the sentence on the first in the ranking, and the test that stands closest behind it."""
    first = names.system(best)
    if against is None:
        return f"{first} comes first with {who[:1].lower() + who[1:]}, though no single test was run on it."
    if against.winner == best:
        return _evidence_sentence(against, names, source, who)
    verb = "rated best" if source == "ratings" else "preferred most"
    return f"{first} is {verb} by {who[:1].lower() + who[1:]}, but not clearly: {_evidence(against, names)}."


def _evidence_sentence(found: Finding, names: Names, source: str, who: str) -> str:
    best, other = found.winner or found.x, found.loser or found.y
    if source == "ratings":
        claim = f"{who} rate {names.system(best)} better than {names.system(other)}"
    else:
        claim = CLAIMS[source].format(who=who, best=names.system(best), other=names.system(other))
    return f"{claim}: {_numbers(found, turned=best == found.y)}."


def _evidence(found: Finding, names: Names) -> str:
    link = "minus" if found.source == "ratings" else "over"
    return f"{names.system(found.x)} {link} {names.system(found.y)}, {_numbers(found)}"


def _numbers(found: Finding, *, turned: bool = False) -> str:
    """Return estimate, interval and adjusted p; turned round where the claim names the second first."""
    row = found.row
    if found.source == "ratings":
        return f"a difference of {number(abs(row['mean_difference']) if turned else row['mean_difference'])} points on average, {p_words(row.get('p_adjusted'))}"
    share, low, high = row[SHARES[found.source]], row.get("ci_low"), row.get("ci_high")
    if turned:
        share, low, high = 1 - share, _rest(high), _rest(low)
    between = f" ({found.confidence} interval {interval(low, high, as_percent=True)})" if low is not None else ""
    return f"{percent(share)}{between}, {p_words(row.get('p_adjusted'))}"


def _rest(value: float | None) -> float | None:
    return None if value is None else 1 - value


def _margin(found: Finding) -> float:
    if found.source == "ratings":
        return abs(float(found.row["mean_difference"]))
    return abs(float(found.row[SHARES[found.source]]) - 0.5)


def _others(results: Results, names: Names, source: str, group: str, criteria: tuple[str, ...]) -> list[str]:
    """Return a sentence on each other source and group that judged the same pairs."""
    base = pair_findings(results, source, group, criteria)
    said = []
    for other_source, other_group in _columns(results):
        if (other_source, other_group) == (source, group):
            continue
        same, opposite, pairs = agreement_with(base, pair_findings(results, other_source, other_group, criteria))
        if pairs:
            said.append(_agreement_words(names.source_by_group(other_source, other_group), same, opposite, pairs))
    if not said:
        return []
    reference = names.source_by_group(source, group)
    return [f"Do others say the same as {reference}? {' '.join(said)}"]


def _agreement_words(name: str, same: int, opposite: int, pairs: int) -> str:
    if same == pairs:
        count = "the only shared pair" if pairs == 1 else f"all {pairs} shared pairs"
        return f"{sentence(name)}: yes, on {count}."
    turn = f", and the opposite on {opposite}" if opposite else ""
    return f"{sentence(name)}: the same on {same} of {plural(pairs, 'shared pair')}{turn}."


def _columns(results: Results) -> list[tuple[str, str]]:
    rankings = results.get("rankings") or ()
    known = [(entry["source"], entry["group"]) for entry in rankings if entry["source"] != "ratings_bt"]
    found = [(found.source, found.group) for kind in SHARES | {"ratings": ""} for found in findings(results, kind)]
    return list(dict.fromkeys([*known, *found]))


def _ranking_table(results: Results, names: Names, criteria: tuple[str, ...]) -> Table | None:
    """Return systems by rankings: a place for each way of asking."""
    chosen = [
        entry
        for entry in results.get("rankings") or ()
        if entry["criterion"] in criteria and entry["source"] != "ratings_bt" and entry.get("order")
    ]
    if not chosen:
        return None
    left_out, chosen = max(0, len(chosen) - MOST_RANKINGS), chosen[:MOST_RANKINGS]
    ranks = [rank_of(entry["order"]) for entry in chosen]
    systems = sorted(
        dict.fromkeys(system for order in ranks for system in order),
        key=lambda system: tuple(order.get(system, len(order) + 1) for order in ranks),
    )
    columns = [Column(title="System")]
    for entry in chosen:
        title = names.source_by_group(entry["source"], entry["group"])
        columns.append(Column(title=f"{title}: {names.criterion(entry['criterion'])}" if len(criteria) > 1 else title))
    rows = [
        [cell(names.system(system)), *(_rank_cell(system, order) for order in ranks)]
        for system in systems
    ]
    notes = ["1 is best. An equals sign marks systems that share a place; a dash, one that has none."]
    if left_out:
        notes.append(f"{plural(left_out, 'more ranking')} under \u201cStrengths and rankings\u201d.")
    columns = [columns[0], *(Column(title=column.title, numeric=True) for column in columns[1:])]
    return build_table("ranking", "Place of each system, by each way of asking", columns, rows, notes)


def _rank_cell(system: str, order: Mapping[str, int]) -> Any:
    if system not in order:
        return cell("\u2013")
    tied = list(order.values()).count(order[system]) > 1
    return cell(f"{order[system]}{'=' if tied else ''}")


__all__ = ["headline", "listed"]
