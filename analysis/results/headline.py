"""The four lines that a report opens with, worded from finished results; the rule stands in the statistics guide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from analysis.answers.live_rows import LivePairRow
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingTest
from analysis.contamination.results import seen_words
from analysis.results.findings import (
    WON_ALL,
    PairResult,
    by_criterion,
    first_criteria,
    leader,
    main_group,
    main_source,
    pair_results,
)
from analysis.results.headline_rows import Direction, Headline, HeadlineClaim, HeadlineProblem, Strength
from analysis.results.live import NOT_UNDER_LOOKING, about_live, live_row, turned_live
from analysis.results.live_words import live_evidence, ranking_words
from analysis.results.records import Results
from analysis.results.small_designs import tests_by_source
from analysis.results.words import Names, listed, number, p_value, percent, plural, rule_name, sentence, share_interval
from analysis.statistics.record import Source
from spa.responses.outcomes import NEVER_ASKED

MOST_CLAIMS = 3  # criteria worded one by one; of more, how many systems lead on how many
MOST_PROBLEMS = 3
LARGE_SHARE = 1 / 3  # of annotators excluded
VERBS = {"preferences": "prefer", "choices": "choose", "ratings": "rate"}


def headline_of(results: Results) -> Headline:
    """Word the four lines of a report from its results."""
    names, source = Names(results), main_source(results)
    problems = tuple(list(_problems(results, names))[:MOST_PROBLEMS])
    stand_in, excluded = _stand_in(results, names), _excluded(results)
    if source is None:
        nothing = "Cannot be determined: there are no answers that compare two systems."
        return Headline(
            source=None,
            group=None,
            winner=nothing,
            certainty=nothing,
            stand_in=stand_in,
            problems=problems,
            excluded=excluded,
        )
    group = main_group(results, source)
    tested = (row for row in pair_results(results, source) if row.test.group == group)
    rows = by_criterion(tested, lambda row: row.test.criterion)
    found = [
        _claim(results, names, rows.get(criterion, []), source, group, criterion)
        for criterion in first_criteria(results, source)
    ]
    claims = tuple(claim for claim, _ in found)
    return Headline(
        source=source,
        group=group,
        winner=_winner(claims, names, source, group),
        certainty=_certainty(results, found, names, group),
        stand_in=stand_in,
        problems=problems,
        claims=claims,
        excluded=excluded,
    )


def _claim(
    results: Results, names: Names, tested: list[PairResult], source: Source, group: str, criterion: str
) -> tuple[HeadlineClaim, PairResult | None]:
    """Return the claim of one criterion and the test that it rests on."""
    run = [row for row in tested if row.test.verdict is not None]
    best, against = leader(results, source, group, criterion, run)
    if best is None and run and len({frozenset((row.x, row.y)) for row in tested}) == 1:  # two systems need no ranking
        against = max(run, key=lambda row: row.exposure or 0)
        best = against.winner or (against.y if _y_ahead(against, names) else against.x)
    decided = None
    strength: Strength = "untested" if against is None and (best is not None or not run) else "no_leader"
    if against is not None:
        decided = live_row(results, against.source, against.test)
        strength = _strength(against, best) if decided is None else _decided_strength(decided, best)
    return (
        HeadlineClaim(
            criterion=criterion,
            direction=_direction(results, names, criterion) if source == "ratings" else None,
            leader=best,
            runner_up=None if against is None else against.y if against.x == best else against.x,
            strength=strength,
            p_adjusted=None if against is None or decided else against.test.p_adjusted,
            p_crossed_adjusted=None if against is None or decided else _p_crossed(against),
            unbeaten=tuple(_unbeaten(results, source, group, criterion)),
            reason=next((row.test.reason for row in tested if row.test.reason), None) if not run else None,
        ),
        against,
    )


def _unbeaten(results: Results, source: Source, group: str, criterion: str) -> Iterator[str]:
    for entry in results.rankings:
        if (entry.source, entry.group, entry.criterion) == (source, group, criterion):
            yield from (one.system for one in entry.unranked if one.reason.startswith(WON_ALL))


def _strength(against: PairResult, best: str | None) -> Strength:
    if against.winner != best:
        return "not_clear" if against.winner is None else "contradicted"
    test = against.test
    if isinstance(test, PreferenceTest):
        return "clear"
    uncertain = isinstance(test, RatingTest) and test.level_problem
    by_item = test.unit == "item" and test.crossed_verdict is None
    return "these_only" if test.disagree or by_item or uncertain else "clear"


def _decided_strength(row: LivePairRow, best: str | None) -> Strength:
    winner = {"x": row.system_x, "y": row.system_y}.get(row.decision or "")
    return "not_clear" if winner is None else "clear" if winner == best else "contradicted"


def _p_crossed(row: PairResult) -> float | None:
    return None if isinstance(row.test, PreferenceTest) else row.test.p_crossed_adjusted


def _direction(results: Results, names: Names, criterion: str) -> Direction:
    if criterion in names.lower_is_better:
        return "lower"
    return "higher" if results.study is not None else "higher (assumed)"


def _winner(claims: Sequence[HeadlineClaim], names: Names, source: Source, group: str) -> str:
    """Return who wins, criterion by criterion; where there are many, who leads on how many."""
    if len(claims) == 1:
        text = f"{_verdict(claims[0], names, source, group)}{_turn(claims)}."
        return text if names.kind(group) == "llm" or claims[0].unbeaten else sentence(text)  # a name keeps its letters
    alike = len({claim.direction for claim in claims}) == 1
    if len(claims) <= MOST_CLAIMS:
        parts = [
            f"{sentence(names.criterion(claim.criterion))}{'' if alike else _turn([claim])}: "
            f"{_verdict(claim, names, source, group)}"
            for claim in claims
        ]
        return f"{'; '.join(parts)}{_turn(claims) if alike else ''}."
    first: dict[str, list[str]] = {}
    for claim in claims:
        if claim.leader is not None:
            name = names.criterion(claim.criterion)
            first.setdefault(claim.leader, []).append(name if alike else f"{name}{_turn([claim])}")
    ahead = sorted(first.items(), key=lambda entry: -len(entry[1]))
    if not ahead:
        return f"Cannot be determined on any of {len(claims)} criteria."
    parts = [f"{names.system(system)} is first on {listed(criteria)}" for system, criteria in ahead[:MOST_CLAIMS]]
    rest = f"; {plural(len(ahead) - MOST_CLAIMS, 'other system')} on the rest" if len(ahead) > MOST_CLAIMS else ""
    return f"Of {len(claims)} criteria judged by {names.who(group)}, {'; '.join(parts)}{rest}" + (
        f"{_turn(claims) if alike else ''}."
    )


def _turn(claims: Sequence[HeadlineClaim]) -> str:
    """Return which ratings are good, in brackets, where all claims agree on it."""
    words = {"higher": " (higher is better)", "lower": " (lower is better)"}
    direction = claims[0].direction
    return "" if direction is None else words.get(direction, " (assumed: higher is better)")


def _verdict(claim: HeadlineClaim, names: Names, source: Source, group: str) -> str:
    """Return the claim as a clause that starts with who judged."""
    who, s = names.who(group), "s" if names.kind(group) == "llm" else ""
    best, other = names.system(claim.leader), names.system(claim.runner_up)
    verb, most = f"{VERBS[source]}{s}", "best" if source == "ratings" else "most"
    if source == "choices" and names.ordered(claim.criterion):
        verb, most = f"rank{s}", "highest"
    before = ""
    if claim.unbeaten:
        won = f"{listed([names.system(system) for system in claim.unbeaten])} won every comparison"
        if claim.reason:
            return f"{won} by {who}, but no test could be run ({claim.reason})"
        before = f"{won}, which leaves no place to give; of the others, "
    match claim.strength:
        case "clear":
            return f"{before}{who} {verb} {best} {most}, clearly ahead of {other}"
        case "these_only":
            return f"{before}{who} {verb} {best} {most}, ahead of {other} on these items with these annotators only"
        case "not_clear":
            return f"{before}{who} {verb} {best} {most}, but not clearly ahead of {other}"
        case "contradicted":
            return (
                f"{before}{who} put{s} {best} first by all comparisons together, although {other} is clearly better "
                "where the two were compared"
            )
        case "no_leader":
            return f"{before}{who} put{s} no system alone in first place"
    reason = f" ({claim.reason})" if claim.reason else ""
    return f"{before}the first place cannot be determined from the answers of {who}{reason}"


def _certainty(
    results: Results, found: Sequence[tuple[HeadlineClaim, PairResult | None]], names: Names, group: str
) -> str:
    """Return how sure the first line is, and for whom it holds."""
    if len(found) == 1:
        parts = [_decided(results, *found[0], names) or _evidence(found[0][1], names)]
        if found[0][0].strength == "not_clear" and "equal" not in parts[0]:
            parts.append("This does not show that they are equal.")
    else:
        n = len(found)
        clear, here = (sum(c.strength == strength for c, _ in found) for strength in ("clear", "these_only"))
        only = f", and on {here}{' more' if clear else ''} for these annotators and items only" if here else ""
        parts = [f"The first place is clear on {clear or 'none'} of {n} criteria{only}."]
    if results.live is not None:
        at_most = f"The chance of any false decision is at most {100 * results.live.error_rate:g}%."
        of_decisions = any(row is not None and live_row(results, row.source, row.test) for _, row in found)
        parts.append(at_most if of_decisions else sentence(NOT_UNDER_LOOKING))
        parts.append(ranking_words(results.live, group, names))
    kinds = {"simulated": "The annotators are simulated: this shows how the method works, not what people think."}
    if names.kind(group) in kinds:
        parts.append(kinds[names.kind(group)])
    elif names.kind(group) == "llm":
        parts.append("It holds for further forms that this LLM answers, not for people.")
    else:
        parts.append(_scope(found))
    return " ".join(part for part in parts if part)


def _decided(results: Results, claim: HeadlineClaim, against: PairResult | None, names: Names) -> str:
    row = None if against is None else live_row(results, against.source, against.test)
    if row is None or results.live is None:
        return ""
    return live_evidence(results.live, row if row.system_x == claim.leader else turned_live(row), names)


def _evidence(against: PairResult | None, names: Names) -> str:
    if against is None or against.value is None:
        return "Cannot be determined: no test of the first place could be run."
    test, low, high = against.test, against.test.ci_low, against.test.ci_high
    turned = _y_ahead(against, names)
    best = against.y if turned else against.x
    if against.source == "ratings":
        shown = f"{names.system(best)} is {number(abs(against.value))} points ahead"
        if low is not None and high is not None:
            low, high = (low, high) if against.value >= 0 else (-high, -low)
            shown += f" ({against.confidence} interval {number(low)} to {number(high)})"
    else:
        share = 1 - against.value if turned else against.value
        other = names.system(against.x if turned else against.y)
        what = "Mean chance that {0} is better" if against.source == "preferences" else "Choices won by {0}"
        if against.source == "choices" and names.ordered(test.criterion):
            what = "Rankings that put {0} above {1}, ties half"
        shown = f"{what.format(names.system(best), other)}: {percent(share)}"
        if low is not None and high is not None:
            shown += (
                f" ({against.confidence} interval {share_interval(*((1 - high, 1 - low) if turned else (low, high)))})"
            )
    return f"{shown}, adjusted {_p(test.p_adjusted)}, n = {test.n} {_unit(against)}."


def _unit(row: PairResult) -> str:
    unit = "annotator" if isinstance(row.test, PreferenceTest) else row.test.unit
    return unit if row.test.n == 1 else f"{unit}s"


def _y_ahead(row: PairResult, names: Names) -> bool:
    """Tell whether the answers of the pair, tested or not, are in favour of y."""
    if row.source == "ratings":
        sign = -1 if row.test.criterion in names.lower_is_better else 1
        return sign * (row.value or 0.0) < 0
    return (row.value or 0.0) < 0.5


def _p(value: float | None) -> str:
    text = p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _scope(found: Sequence[tuple[HeadlineClaim, PairResult | None]]) -> str:
    """Return for whom the claims hold: these annotators and items, or others like them."""
    tests = [(claim, row) for claim, row in found if row is not None]
    if not tests:
        return ""
    one = len(tests) == 1
    contradicted = [row for claim, row in tests if claim.strength == "these_only" and _p_crossed(row) is not None]
    if contradicted:
        least = min(p for row in contradicted if (p := _p_crossed(row)) is not None)
        where = "" if one else f" on {plural(len(contradicted), 'criterion', 'criteria')}"
        return (
            f"For other annotators and items it is not shown{where} ({'' if one else 'smallest '}crossed {_p(least)})."
        )
    if all(isinstance(row.test, PreferenceTest) for _, row in tests):
        return "It holds for annotators like these, who read these outputs."
    if all(_p_crossed(row) is not None for _, row in tests):
        return "The test over other annotators and items agrees."
    if all(isinstance(row.test, RatingTest) and row.test.n_items for _, row in tests):
        return "It holds for annotators and items like these."
    if any(_unit(row).startswith("item") for _, row in tests):
        return "It holds for further items judged by these annotators; other annotators were not tested."
    return "It holds for annotators like these, who judged these items; other items were not tested."


def _stand_in(results: Results, names: Names) -> str:
    """Return whether an LLM may stand in for a person: yes, no, or what would determine it."""
    llms = [row.group for row in results.groups if row.annotator_kind == "llm"]
    if not llms:
        return "Not asked: no LLM answered."
    rows = [row for row in results.llm_vs_people.alternative_annotator if row.group in llms]
    tested: dict[str, list[list[str]]] = {}  # criteria passed and failed
    for row in rows:
        if row.passes is not None:
            tested.setdefault(row.group, [[], []])[not row.passes].append(names.criterion_asked(row, rows))
    if tested:
        people = "" if rows[0].people == "human" else " (compared with simulated annotators)"
        if len(tested) > MOST_CLAIMS:
            every, none = (sum(not one[place] for one in tested.values()) for place in (1, 0))
            some = len(tested) - every - none
            counts = f"{every} pass on every criterion, {some} on some and {none} on none"
            return f"Of {plural(len(tested), 'LLM')} {counts}{people}."
        parts = [
            f"{names.group(group)}: {', '.join(f'{word} on {_named(own)}' for word, own in answers if own)}"
            for group, answers in ((group, zip(("yes", "no"), own, strict=True)) for group, own in tested.items())
        ]
        return f"{'; '.join(parts)}{people}."
    nobody = "no people rated or chose the items that the LLM did"
    if not (results.ratings.pairs or results.choices.pairs):
        nobody = "single outputs were neither rated nor compared"
    why = next((row.reason for row in rows if row.reason), nobody)
    if any(row.kind == "summed" and "stand in" in row.text for row in results.warning_rows):
        why = "of several samples it needs single answers, and the table was read in parts"
    return f"Cannot be determined: {why.rstrip('.')}."


def _excluded(results: Results) -> str | None:
    """Count the people excluded by each rule, where rules of careless answering were declared."""
    if not results.careless:
        return None
    people = [row for row in results.groups if row.annotator_kind != "llm"]
    total, gone = sum(row.annotators for row in people), sum(row.excluded_annotators for row in people)
    groups = {row.group for row in people}
    rows = [row for row in results.exclusions if row.assignment_id is None and row.group in groups]
    whole = {(row.rule, row.annotator_id) for row in rows}
    left = Counter(rule for rule, annotator_id in whole)
    declared = dict.fromkeys(row.rule for row in results.careless)
    by_rule = [f"{rule_name(rule)} {left[rule]}" for rule in (*declared, *sorted(left.keys() - declared.keys()))]
    several = " (some by several rules)" if len(whole) > gone else ""
    unknown = [f"{rule_name(row.rule)} {row.not_checkable}" for row in results.careless if row.not_checkable]
    kept = f" Kept, as there was too little to judge by: {', '.join(unknown)}." if unknown else ""
    return f"{gone} of {plural(total, 'annotator')}: {', '.join(by_rule)}{several}.{kept} This does not affect pay."


def _named(criteria: Sequence[str]) -> str:
    return listed(criteria) if len(criteria) <= MOST_CLAIMS else plural(len(criteria), "criterion", "criteria")


def _problems(results: Results, names: Names) -> Iterator[HeadlineProblem]:
    """Yield the problems of the data, the worst first."""

    def problem(text: str, section: str) -> HeadlineProblem:
        return HeadlineProblem(text=text, section=section)

    source = main_source(results)
    if results.live is not None:
        for warning in about_live(results):
            if warning.kind != "looked_at":
                about = warning.text.removeprefix(f"{warning.group}: ")
                yield problem(f"{sentence(names.group(warning.group or ''))}: {about}", results.live.answers)
    for row in results.groups:
        if row.annotator_kind != "llm" and row.annotators and row.annotators <= row.excluded_annotators:
            yield problem(f"Every annotator of {names.group(row.group)} was excluded.", "excluded")
    for model in results.contaminations:
        yield from (problem(line, "contamination") for line in seen_words(model))
    every = [test for rows in tests_by_source(results).values() for test in rows]
    untested = Counter(test.reason or "no reason was recorded" for test in every if test.p_value is None)
    if untested:
        reason = max(untested, key=lambda one: untested[one])
        yield problem(f"{untested.total()} of {len(every)} tests could not be run ({reason}).", source or "warnings")
    tests = f"{len(results.ratings.pairs)} tests of ratings"
    level = [row.level_problem for row in results.ratings.pairs if row.level_problem]
    if level:
        yield problem(f"{len(level)} of {tests}: {level[0]}.", "ratings")
    apart = sum(row.separated_by == "item_id" for row in results.ratings.pairs)
    if apart:
        yield problem(f"{apart} of {tests} compare systems without a common item_id.", "warnings")
    if results.study is None and results.ratings.pairs and not results.settings.lower_is_better:
        yield problem("Whether high ratings are good is assumed (--lower-is-better CRITERION changes it).", "ratings")
    for row in results.groups:
        if row.annotator_kind == "llm" and row.excluded_assignments > LARGE_SHARE * max(row.assignments, 1):
            yield problem(
                f"{names.group(row.group)} contradicted itself in {row.excluded_assignments} of "
                f"{plural(row.assignments, 'assignment')}.",
                "excluded",
            )
        kept = row.annotators - row.excluded_annotators
        if row.annotator_kind == "llm" or kept <= 0:
            continue
        if row.excluded_annotators > LARGE_SHARE * row.annotators:
            yield problem(
                f"{row.excluded_annotators} of {row.annotators} annotators of {names.group(row.group)} were excluded.",
                "excluded",
            )
        if kept < ENOUGH_ANNOTATORS and row.annotator_kind != "simulated":
            yield problem(f"{sentence(names.group(row.group))}: only {plural(kept, 'annotator')}.", "asked")
    missing = sum(row.n for row in results.missing if row.reason not in NEVER_ASKED.values())
    if missing:
        yield problem(f"{plural(missing, 'answer is', 'answers are')} missing.", "excluded")
    skewed = sum(row.highly_skewed for rows in tests_by_source(results).values() for row in rows)
    if skewed:
        yield problem(f"{plural(skewed, 'test rests', 'tests rest')} on highly skewed values.", "warnings")
    if results.study is not None and results.study.dropped_items:
        yield problem(f"{plural(len(results.study.dropped_items), 'item')} left the study before the draw.", "asked")
