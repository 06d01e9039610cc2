"""The answer in a few plain sentences, and every ranking beside the others."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.report.document import Block, Bullets, Cell, Column, Fold, Paragraph, Section, Table, build_table
from analysis.report.families import discovery_words
from analysis.report.findings import (
    OVERALL,
    SOURCES,
    PairResult,
    agreement_with,
    first_criteria,
    leader,
    main_group,
    main_source,
    pair_findings,
    pair_results,
    rank_of,
)
from analysis.report.words import (
    Names,
    cell,
    interval,
    listed,
    number,
    p_words,
    percent,
    plural,
    sentence,
    share_interval,
)
from analysis.results.records import Results
from analysis.statistics.record import Source

MOST_LINES = 8  # lines on who agrees
MOST_TURNED = 3  # reversed pairs named at once
MOST_RANKINGS = 12  # columns that a reader can still compare
WON = "won every comparison"  # how the reason of a system without a place begins
# {s} is the ending of the verb where one LLM is the subject
CLAIMS = {
    "preferences": ("{who} prefer{s} {best} to {other}", "{who} prefer{s} {best} most, clearly more than {other}"),
    "choices": ("{who} choose{s} {best} over {other}", "{who} choose{s} {best} most, clearly more than {other}"),
    "ratings": ("{who} rate{s} {best} better than {other}", "{who} rate{s} {best} best, clearly better than {other}"),
}


def headline(results: Results) -> Section | None:
    """Say which system is preferred, by whom, how sure this is, and whether other ways of asking agree."""
    source, names = main_source(results), Names(results)
    if source is None:
        return None
    group, criteria = main_group(results, source), first_criteria(results, source)
    blocks: list[Block] = []
    if len(criteria) == 1:
        blocks.append(
            Paragraph(
                text=_opening(_claim(results, names, source, group, criteria[0]), names, group), weight="headline"
            )
        )
    else:
        blocks.append(Paragraph(text=f"{len(criteria)} criteria were judged, here by {names.who(group)}:"))
        blocks.append(
            Bullets(
                items=tuple(
                    f"{sentence(names.criterion(criterion))}: {_claim(results, names, source, group, criterion)}"
                    for criterion in criteria
                )
            )
        )
    if discovery_words(results):
        blocks.append(Paragraph(text=discovery_words(results)))
    blocks.extend(_others(results, names, source, group, criteria))
    if names.kind(group) == "simulated":
        blocks.append(
            Paragraph(
                text="These annotators are simulated: the numbers show how the method works, not what people think.",
                weight="warning",
            )
        )
    cautions = len(set(results.warnings))
    if cautions:
        what = "warning" if cautions == 1 else f"{cautions} warnings"
        blocks.append(Paragraph(text=f"Before you use these numbers, read the {what} below."))
    ranking = _ranking_table(results, names, criteria)
    return Section(id="answer", title="The answer", blocks=(*blocks, *([ranking] if ranking else [])))


def _claim(results: Results, names: Names, source: Source, group: str, criterion: str) -> str:
    """Return one or two sentences on the best system of one source, group and criterion."""
    tested = [
        found
        for found in pair_results(results, source)
        if (found.test.group, found.test.criterion) == (group, criterion)
    ]
    run = [found for found in tested if found.test.verdict is not None]
    who = names.who(group)
    unbeaten = [names.system(system) for system in _unbeaten(results, source, group, criterion)]
    if not run:
        reason = next((found.test.reason for found in tested if found.test.reason), None)
        return f"the answers of {who} allow no test{f' ({reason})' if reason else ''}.{_won_all_alone(unbeaten)}"
    clear = [found for found in run if found.winner is not None]
    before = _won_all(unbeaten, who, _ending(names, group))
    if not clear:
        closest = min(run, key=lambda found: 1.0 if found.test.p_adjusted is None else found.test.p_adjusted)
        return (
            f"{before}{who} show{_ending(names, group)} no clear preference in {_any_of(len(run))}. Closest to one is "
            f"{names.system(closest.x)} against {names.system(closest.y)}: {_numbers(closest, names, closest.x)}. "
            "That does not prove the systems equal."
        )
    systems = {system for found in tested for system in (found.x, found.y)}
    best, against = leader(results, source, group, criterion, run)
    clearest = max(clear, key=_margin)
    lines = [
        _leading(best, against, clearest, names, only_two=len(systems) == 2),
        _after_reading(against if best is not None and against else clearest, run),
        _clear_ones(run, len(clear)),
        _without_test(tested),
    ]
    return before + " ".join(line for line in lines if line)


def _unbeaten(results: Results, source: Source, group: str, criterion: str) -> list[str]:
    """Return the systems that won every comparison: too far ahead for a place, and so missing in the ranking."""
    return [
        one.system
        for entry in results.rankings
        if (entry.source, entry.group, entry.criterion) == (source, group, criterion)
        for one in entry.unranked
        if one.reason.startswith(WON)
    ]


def _won_all(unbeaten: list[str], who: str, ending: str) -> str:
    if not unbeaten:
        return ""
    them = "it" if len(unbeaten) == 1 else "them"
    ahead = f"{who} let{ending} {listed(unbeaten)} win every comparison, which leaves {them} without a place"
    return f"{ahead} in the ranking. Of the other systems: "


def _won_all_alone(unbeaten: list[str]) -> str:
    return f" {listed(unbeaten)} won every comparison." if unbeaten else ""


def _opening(claim: str, names: Names, group: str) -> str:
    """Begin with a capital, but leave the id of an LLM as it is."""
    return claim if names.kind(group) == "llm" else sentence(claim)


def _ending(names: Names, group: str) -> str:
    return "s" if names.kind(group) == "llm" else ""


def _any_of(comparisons: int) -> str:
    return "the one comparison" if comparisons == 1 else f"any of the {comparisons} comparisons"


def _after_reading(found: PairResult, run: list[PairResult]) -> str:
    exposure = found.exposure
    if exposure is None or len({each.exposure for each in run}) == 1:
        return ""
    return f"This is after reading {plural(exposure, 'output')} of each."


def _clear_ones(run: list[PairResult], clear: int) -> str:
    if len(run) == 1:
        return ""
    if len({frozenset((found.x, found.y)) for found in run}) == 1:  # an exposure study
        where = f"all {len(run)}" if clear == len(run) else f"{clear} of the {len(run)}"
        return f"The difference is clear at {where} exposures."
    if len(run) == clear:
        return f"All {len(run)} comparisons show a clear difference."
    return f"Of the {len(run)} comparisons, {clear} {'shows' if clear == 1 else 'show'} a clear difference."


def _without_test(tested: list[PairResult]) -> str:
    left = [found for found in tested if found.test.verdict is None and found.test.p_value is None]
    reasons = listed(list(dict.fromkeys(found.test.reason or "no reason was recorded" for found in left)))
    return f"{plural(len(left), 'more comparison')} could not be tested ({reasons})." if left else ""


def _leading(
    best: str | None, against: PairResult | None, clearest: PairResult, names: Names, *, only_two: bool
) -> str:
    """Return the sentence on the first in the ranking and the test against the next that it met."""
    who, ending = names.who(clearest.test.group), _ending(names, clearest.test.group)
    if best is None:  # no ranking, or a shared first place: the clearest single result
        winner, loser = str(clearest.winner), str(clearest.loser)
        claim = CLAIMS[clearest.source][0].format(
            who=who, s=ending, best=names.system(winner), other=names.system(loser)
        )
        return f"{claim}: {_numbers(clearest, names, winner)}."
    first = names.system(best)
    if against is None:
        return f"{who} place{ending} {first} first, though no test was run on it."
    other = names.system(against.y if against.x == best else against.x)
    if against.winner == best:
        claim = CLAIMS[against.source][not only_two].format(who=who, s=ending, best=first, other=other)
        return f"{claim}: {_numbers(against, names, best)}."
    if against.winner is None:
        return f"{who} place{ending} {first} first, but not clearly before {other}: {_numbers(against, names, best)}."
    return (
        f"{who} place{ending} {first} first by all comparisons together, although {other} is clearly better where the "
        f"two were compared: {_numbers(against, names, best)}."
    )


def _numbers(found: PairResult, names: Names, of: str) -> str:
    """Return estimate, interval and adjusted p in words, from the side of one system of the pair."""
    value, low, high = found.value, found.test.ci_low, found.test.ci_high
    name, turned = names.system(of), of == found.y
    assert value is not None  # only of a test that was run
    if found.source == "ratings":
        value = -value if turned else value
        low, high = (_less(0, high), _less(0, low)) if turned else (low, high)
        low, high = (_less(0, high), _less(0, low)) if value < 0 else (low, high)
        side = "higher" if value >= 0 else "lower"
        estimate = f"the ratings of {name} are {number(abs(value))} points {side} on average"
        between = interval(low, high)
    else:
        share, low, high = (1 - value, _less(1, high), _less(1, low)) if turned else (value, low, high)
        they = "it puts" if names.kind(found.test.group) == "llm" else "they put"
        estimate = {
            "preferences": f"on average {they} the chance that {name} is better at {percent(share)}",
            "choices": f"{name} wins {percent(share)} of the choices",
        }[found.source]
        between = share_interval(low, high)
    shown = f" ({found.confidence} interval {between})" if low is not None else ""
    return f"{estimate}{shown}, {p_words(found.test.p_adjusted)}"


def _less(start: float, value: float | None) -> float | None:
    return None if value is None else start - value


def _margin(found: PairResult) -> float:
    return abs((found.value or 0.0) - (0.0 if found.source == "ratings" else 0.5))


def _others(results: Results, names: Names, source: Source, group: str, criteria: tuple[str, ...]) -> list[Block]:
    """Return a line on each other source and group that judged the same pairs."""
    base = pair_findings(results, source, group, criteria)
    lines = []
    for other_source, other_group in _columns(results):
        if (other_source, other_group) == (source, group):
            continue
        other = pair_findings(results, other_source, other_group, criteria)
        same, opposite, pairs = agreement_with(base, other)
        if pairs:
            turned = [_turned(names, key, other[key]) for key in opposite]
            lines.append(_agreement_words(names.source_by_group(other_source, other_group), same, turned, pairs))
    if not lines:
        return []
    first, rest = tuple(lines[:MOST_LINES]), tuple(lines[MOST_LINES:])
    blocks: list[Block] = [
        Paragraph(text=f"Do the others find the same as {names.source_by_group(source, group)}?"),
        Bullets(items=first),
    ]
    if rest:
        blocks.append(Fold(summary=f"The other {len(rest)}", blocks=(Bullets(items=rest),)))
    return blocks


def _turned(names: Names, judged: tuple[str, frozenset[str]], winners: set[str]) -> str:
    criterion, pair = judged
    about = "" if criterion == OVERALL else f", {names.criterion(criterion)}"
    return " and ".join(
        f"{names.system(winner)} over {names.system(*pair - {winner})}{about}" for winner in sorted(winners - {""})
    )


def _agreement_words(name: str, same: int, turned: list[str], pairs: int) -> str:
    if same == pairs:
        count = "the only shared pair" if pairs == 1 else f"all {pairs} shared pairs"
        return f"{sentence(name)}: yes, on {count}."
    turn = ""
    if turned:
        named = f" ({'; '.join(turned)})" if len(turned) <= MOST_TURNED else ""
        turn = f", and the opposite on {len(turned)}{named}"
    return f"{sentence(name)}: the same on {same} of {plural(pairs, 'shared pair')}{turn}."


def _columns(results: Results) -> list[tuple[Source, str]]:
    rankings = results.rankings
    known = [(entry.source, entry.group) for entry in rankings if entry.source != "ratings_bt"]
    found = [(entry.source, entry.test.group) for source in SOURCES for entry in pair_results(results, source)]
    return list(dict.fromkeys([*known, *found]))


def _ranking_table(results: Results, names: Names, criteria: tuple[str, ...]) -> Table | None:
    """Return systems by rankings: a place for each way of asking."""
    chosen = [
        entry
        for entry in results.rankings
        if entry.criterion in criteria and entry.source != "ratings_bt" and entry.order
    ]
    if not chosen:
        return None
    left_out, chosen = max(0, len(chosen) - MOST_RANKINGS), chosen[:MOST_RANKINGS]
    ranks = [rank_of(entry.order) for entry in chosen]
    systems = sorted(
        dict.fromkeys(system for order in ranks for system in order),
        key=lambda system: tuple(order.get(system, len(order) + 1) for order in ranks),
    )
    columns = [Column(title="System")]
    for entry in chosen:
        title = sentence(names.source_by_group(entry.source, entry.group))
        columns.append(Column(title=f"{title}: {names.criterion(entry.criterion)}" if len(criteria) > 1 else title))
    apart = {one.system: one.reason for entry in chosen for one in entry.unranked}
    systems += [system for system in apart if system not in systems]
    rows = [[cell(names.system(system)), *(_rank_cell(system, order) for order in ranks)] for system in systems]
    notes = ["1 is best. An equals sign marks systems that share a place; a dash, one that has none."]
    notes += [f"No place for {names.system(system)}: {reason}." for system, reason in apart.items()]
    if left_out:
        notes.append(f"{plural(left_out, 'more ranking')} under \u201cStrengths and rankings\u201d.")
    columns = [columns[0], *(Column(title=column.title, numeric=True) for column in columns[1:])]
    return build_table("ranking", "Place of each system, by each way of asking", columns, rows, notes)


def _rank_cell(system: str, order: Mapping[str, int]) -> Cell:
    if system not in order:
        return cell("\u2013")
    tied = list(order.values()).count(order[system]) > 1
    return cell(f"{order[system]}{'=' if tied else ''}")
