"""Who answered, what they were offered, and whose answers were left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from analysis.figures.plain_text import shown_name
from analysis.methods.design import SPA
from analysis.methods.sentences import Sentence, said
from analysis.printing.names import Names
from analysis.printing.words import listed, number, plural, rule_name, sentence
from analysis.records.overview import ExclusionRow, Group
from analysis.records.results import Results

CARELESS = {
    "outputs_seen": "had seen less than {bound:.4g}% of the outputs shown to them",
    "reading_speed": "had read more than {bound:g} words a minute",
    "relative_speed": "had read more than {bound:g} times as fast as their texts are usually read silently, by the "
    "time on screen or the server's clock",
    "same_answers": "had given one and the same answer to more than {bound:.4g}% of the questions",
}
SHARES = ("outputs_seen", "same_answers")


def annotators(results: Results) -> Iterator[Sentence]:
    """Say who answered, where they came from, and what they were offered."""
    names = Names(results)
    people = [row for row in results.groups if row.annotator_kind == "human"]
    simulated = [row for row in results.groups if row.annotator_kind == "simulated"]
    yield from _people(people, names)
    if people:
        yield from _offered(results)
    for row in simulated:
        nobody = "" if people else "No person took part: "
        who = (
            f"{plural(row.annotators, 'simulated annotator')} answered {'too' if people else 'in the place of people'}"
        )
        yield from said(f"{nobody}{who}", "groups.annotator_kind", "groups.annotators")


def _people(people: Sequence[Group], names: Names) -> Iterator[Sentence]:
    named = [row for row in people if row.unnamed is None]
    facts = ("groups.group", "groups.annotators", "groups.assignments")
    if len(named) == 1:
        row = named[0]
        which = "" if row.group == "human" else f" ({shown_name(row.group)})"
        forms = f" and handed in {plural(row.assignments, 'form')}" if row.assignments else ""
        verb = "answered"
        yield from said(f"{plural(row.annotators, 'annotator')}{which} {verb}{forms}", *facts)
    elif named:
        shown = [f"{names.group(row.group)} ({plural(row.annotators, 'annotator')})" for row in named]
        yield from said(
            f"{len(named)} groups of people answered and were analysed apart: {listed(shown)}", "groups", *facts
        )
    for row in people:
        if row.unnamed is not None:
            of = "" if row.group == "human" else f" of group {shown_name(row.group)}"
            yield from said(
                f"The people{of} are not named in the data ({names.unnamed(row.group)}), so that no annotators "
                "are counted",
                "groups.group",
                "groups.unnamed",
                "groups.fewest_an_output",
                "groups.most_an_output",
            )


def _offered(results: Results) -> Iterator[Sentence]:
    study = results.study
    if study is None:
        return
    if study.annotators_wanted is not None:
        yield from said(
            f"The study was planned for {plural(study.annotators_wanted, 'annotator')}", "study.annotators_wanted"
        )
    yield from _recruited(results)
    if study.pay is not None:
        paid = float(study.pay) > 0
        money = f"{_money(study.pay)} {study.currency}" if study.currency else _money(study.pay)
        offer = f"The study offered {money} for a completed submission" if paid else "The study offered no pay"
        yield from said(offer, "study.pay", *(["study.currency"] if study.currency and paid else []))
    if study.bonuses:
        least, most = study.bonuses[0], study.bonuses[-1]
        amount = f"of {_money(least)}" if least == most else f"from {_money(least)} to {_money(most)}"
        money = f" {study.currency}" if study.currency else ""
        yield from said(
            f"Reviewers granted {plural(len(study.bonuses), 'bonus', 'bonuses')} {amount}{money} beside it",
            "study.bonuses",
            *(["study.currency"] if study.currency else []),
        )
    if study.median_minutes is not None:
        minutes = number(study.median_minutes, 1)
        yield from said(
            f"From taking the form to the last answer the median annotator needed {minutes} minutes",
            "study.median_minutes",
        )
    if study.last_answer is not None:
        asked_llms = any(row.annotator_kind == "llm" for row in results.groups)
        of = ", of people or LLMs," if asked_llms else ""
        yield from said(f"The last answer{of} came in on {study.last_answer} (UTC)", "study.last_answer")


def _recruited(results: Results) -> Iterator[Sentence]:
    known = [row for row in results.study.sources if row.recruited]
    if not known or len(known) < len(results.study.sources):
        return
    ways = [row.recruited[:1].lower() + row.recruited[1:].rstrip(".") for row in known]
    if len(ways) > 1:
        ways = [f"{way} ({row.annotators})" for way, row in zip(ways, known, strict=True)]
    yield from said(f"They were recruited {listed(ways)}", "study.sources.recruited", "study.sources.annotators")


def _money(amount: str) -> str:
    """Return a price with two decimals, more only where it has more."""
    whole, _, cents = amount.partition(".")
    return f"{whole}.{cents.ljust(2, '0')}"


def exclusions(results: Results) -> Iterator[Sentence]:
    """Say by which rules answers were left out, how many, and what is missing."""
    names = Names(results)
    yield from _rules(results)
    for row in results.groups:
        if not row.members and not row.simulated:
            yield from _excluded(row, [one for one in results.exclusions if one.group == row.group], names)
    yield from _missing(results, names)


def _rules(results: Results) -> Iterator[Sentence]:
    settings, study = results.settings, results.study
    design = study.design if study is not None else None
    if design is not None and (asked := design.screening_questions):
        which = "the screening question" if asked == 1 else f"one of {asked} screening questions"
        yield from said(
            f"Annotators were to be excluded if their answer to {which} did not qualify them",
            "study.design.screening_questions",
        )
    if design is not None and design.attention_checks and settings.max_failed_checks is not None:
        checks = plural(design.attention_checks, "attention check")
        failed = f"more than {settings.max_failed_checks}" if settings.max_failed_checks else "any"
        yield from said(
            f"Forms had {checks} for people, who were to be excluded if they failed {failed} of their checks",
            "study.design.attention_checks",
            "settings.max_failed_checks",
        )
    if settings.consistency_tau is not None and results.consistency_sweep:
        llm = {row.annotator_kind == "llm" for row in results.groups}
        who = listed([*(["Annotators"] if False in llm else []), *(["forms of an LLM"] if True in llm else [])])
        yield from said(
            f"{sentence(who)} were to be excluded if the two probabilities given for a pair, P(x > y) and P(y > x), "
            f"added up to more than {settings.consistency_tau:g}",
            "settings.consistency_tau",
            cites=(SPA,),
        )
    for rule, rows in groupby(results.careless, key=lambda row: row.rule):
        bound = next(rows).bound
        shown = 100 * bound if rule in SHARES else bound
        yield from said(
            f"By a rule set in the plan, annotators were to be excluded if they {CARELESS[rule].format(bound=shown)}",
            "careless.bound",
        )


def _excluded(group: Group, rows: Sequence[ExclusionRow], names: Names) -> Iterator[Sentence]:
    llm, nameless = group.annotator_kind == "llm", group.unnamed is not None
    one = "form" if llm else "simulated annotator" if group.group == "simulated" else "annotator"
    who = "" if group.group in ("human", "simulated") else f" of {names.group(group.group)}"
    whole = [row for row in rows if row.assignment_id is None]
    forms = [row for row in rows if row.assignment_id is not None]
    if not rows:
        if not nameless:
            yield from said(
                f"No {one}{who} was excluded",
                "groups.group",
                "groups.excluded_annotators",
                "groups.excluded_assignments",
            )
        return
    if whole and not llm:
        gone = len({row.annotator_id for row in whole})
        several = gone < len({(row.annotator_id, row.rule) for row in whole})
        note = "; some met several rules" if several else ""
        be = "was" if gone == 1 else "were"
        yield from said(
            f"Of {plural(group.annotators, one)}{who}, {gone} {be} excluded ({_by_rule(whole)}{note})",
            "groups.annotators",
            "groups.excluded_annotators",
            "exclusions",
        )
    elif whole:
        yield from said(f"All answers of {names.group(group.group)} were excluded ({_by_rule(whole)})", "exclusions")
    if forms:
        gone = len({(row.annotator_id, row.assignment_id) for row in forms})
        more = " further" if whole and not llm else ""
        be = "was" if gone == 1 else "were"
        yield from said(
            f"{gone}{more} {'form' if gone == 1 else 'forms'}{who} {be} excluded ({_by_rule(forms)})", "exclusions"
        )


def _by_rule(rows: Iterable[ExclusionRow]) -> str:
    met: dict[str, set[tuple[str, str | None]]] = {}
    for row in rows:
        met.setdefault(row.rule, set()).add((row.annotator_id, row.assignment_id))
    return listed([f"{rule_name(rule)}: {len(who)}" for rule, who in met.items()])


def _missing(results: Results, names: Names) -> Iterator[Sentence]:
    lost: dict[str, int] = {}
    for row in results.missing:
        lost[row.group] = lost.get(row.group, 0) + row.n
    if not lost:
        return
    shown = listed([f"{plural(n, 'answer')} of {names.group(group)}" for group, n in lost.items()])
    be = "is" if list(lost.values()) == [1] else "are"
    yield from said(
        f"{sentence(shown)} {be} missing or could not be read; nothing was filled in", "missing.group", "missing.n"
    )
