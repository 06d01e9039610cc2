"""The four lines that a report opens with, made of finished results; the rule stands in the statistics guide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from analysis.answers.live_rows import LiveStudy
from analysis.printing.live_words import chance_of_error, is_ranked, ranking_evidence, ranking_found, ranking_winner
from analysis.printing.lookup import (
    MOST_CLAIMS,
    by_criterion,
    first_criteria,
    lower_criteria,
    main_group,
    main_source,
    pair_results,
)
from analysis.printing.names import Names
from analysis.printing.words import listed, plural, rule_name, sentence
from analysis.records.results import Results
from analysis.results.caveat_evidence import Known
from analysis.results.caveats import MOST_PROBLEMS, caveats
from analysis.results.certainty_words import CertaintyWording
from analysis.results.claim_words import SupportedClaim
from analysis.results.claims import claim_of, evidence_of
from analysis.results.headline_rows import Direction, Headline, HeadlineClaim
from analysis.results.live import NOT_UNDER_LOOKING
from analysis.statistics.reasons import commonest, why
from analysis.statistics.record import Source
from spa.live import ranked

REHEARSAL = "Rehearsal: not asked of an LLM."


def headline_of(results: Results) -> Headline:
    """Return the four lines of a report, with the claims that they are worded from."""
    names, source = Names(results), main_source(results)
    group = None if source is None else main_group(results, source)
    found = [] if source is None or group is None else _found(results, source, group)
    every = tuple(caveats(Known(results=results, names=names, source=source, group=group, supported=found)))
    winner = certainty = "Cannot be determined: there are no answers that compare two systems."
    if source is not None and group is not None:
        wording = CertaintyWording(results, names, source, group)
        winner = wording.winner(found)
        certainty = wording.certainty(found, _of_live(results, found))
        if results.live is not None and is_ranked(results.live, group):
            found = [(_of_ranking(claim, results.live, group), evidence) for claim, evidence in found]
            winner = ranking_winner(results.live, group, names)
            certainty = " ".join([ranking_evidence(results.live, group, names), *wording.made_by_a_program()])
    return Headline(
        source=source,
        group=group,
        winner=winner,
        certainty=certainty,
        stand_in=_stand_in(results, names),
        problems=every[:MOST_PROBLEMS],
        more_problems=every[MOST_PROBLEMS:],
        claims=tuple(claim for claim, _ in found),
        excluded=_excluded(results, names),
    )


def _found(results: Results, source: Source, group: str) -> list[SupportedClaim]:
    """Return the claim of each criterion of the headline, with its evidence."""
    tested = (row for row in pair_results(results, source) if row.test.group == group)
    rows = by_criterion(tested, lambda row: row.test.criterion)
    found = []
    for criterion in first_criteria(results, source):
        evidence = evidence_of(results, rows.get(criterion, []), source, group, criterion)
        direction = _direction(results, criterion) if source == "ratings" else None
        found.append((claim_of(evidence, direction), evidence))
    return found


def _direction(results: Results, criterion: str) -> Direction:
    if criterion in lower_criteria(results):
        return "lower"
    return "higher" if results.study is not None else "higher (assumed)"


def _of_ranking(claim: HeadlineClaim, live: LiveStudy, group: str) -> HeadlineClaim:
    """Return a claim as the ranking of a live study has it, whose first is named where it is found alone."""
    first, *others = [row.system for row in ranked(live.systems) if row.group == group]
    named = ranking_found(live, group) and (live.order or live.top == 1)
    return HeadlineClaim(
        criterion=claim.criterion,
        direction=None,
        leader=first if named else None,
        runner_up=others[0] if named and others else None,
        strength="clear" if named else "no_leader",
        p_adjusted=None,
        p_crossed_adjusted=None,
        winner=first if named else None,
    )


def _of_live(results: Results, found: Sequence[SupportedClaim]) -> list[str]:
    """Return what holds of the claims of a study that was looked at after every annotator."""
    if results.live is None:
        return []
    at_most = f"The chance of any false decision is {chance_of_error(results.live)}."
    of_decisions = any(evidence.decided is not None for _, evidence in found)
    return [at_most if of_decisions else sentence(NOT_UNDER_LOOKING)]


def _stand_in(results: Results, names: Names) -> str:
    """Return whether an LLM can replace annotators: yes, no, or what would determine it."""
    llms = [row.group for row in results.groups if row.annotator_kind == "llm" and not row.simulated]
    if not llms:
        simulated = any(row.simulated for row in results.groups)
        return REHEARSAL if simulated else "No LLM answered."
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
    if any(row.unnamed is not None for row in results.groups):
        return "Cannot be determined: nobody names the people, so that no LLM can be set beside one of them."
    nobody = why("no_people_shared")
    if not (results.ratings.pairs or results.choices.pairs):
        nobody = why("no_single_outputs")
    reason = commonest(row.reason for row in rows) or nobody
    if any("stand_in" in row.left_out for row in results.warning_rows):
        reason = why("several_samples_summed")
    return f"Cannot be determined: {reason}."


def _excluded(results: Results, names: Names) -> str | None:
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
    units = names.units(people[0].group, "annotator", total) if len(people) == 1 else plural(total, "annotator")
    return f"{gone} of {units}: {', '.join(by_rule)}{several}.{kept} This does not affect pay."


def _named(criteria: Sequence[str]) -> str:
    return listed(criteria) if len(criteria) <= MOST_CLAIMS else plural(len(criteria), "criterion", "criteria")
