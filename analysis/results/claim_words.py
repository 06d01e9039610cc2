"""The first line of a report in words: who wins. Every word depends on a claim's case alone."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import TypeAlias

from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.ratings import RatingTest
from analysis.printing.lookup import MOST_CLAIMS, PairResult
from analysis.printing.names import Names
from analysis.printing.words import listed, number, percent, plural, sentence, shortened_list
from analysis.records.results import Results
from analysis.results.claims import FIRST, Evidence, rests_on_own_items
from analysis.results.headline_rows import HeadlineClaim
from analysis.statistics.record import Source, replace_fields
from spa.records.submission import SIMULATED_RATER

MANY_NAMES, SHOWN_OF_MANY = 60, 10
VERBS = {"preferences": "prefer", "choices": "choose", "ratings": "rate"}
SUPERLATIVES = {"preferences": "most", "choices": "most", "ratings": "best"}
PAST = {"preferences": "preferred", "choices": "chosen", "ratings": "rated"}
SupportedClaim: TypeAlias = tuple[HeadlineClaim, Evidence]


class Wording:
    """Words for what one group answered in one way."""

    def __init__(self, results: Results, names: Names, source: Source, group: str) -> None:
        """Take the results for decisions of a live study, and the names."""
        self.results, self.names, self.source, self.group = results, names, source, group
        self.who = names.who(group)
        self.llm = names.kind(group) == "llm"
        own = [row for row in results.groups if row.group == group and not self.llm]
        self.annotators = sum(row.annotators - row.excluded_annotators for row in own)
        self.s = "s" if self.llm else ""  # of a verb: a group of people is many, an LLM is one
        self.they = "It" if self.llm else "They"

    def winner(self, supported: Sequence[SupportedClaim]) -> str:
        """Return who wins, criterion by criterion; where there are many, who leads on how many."""
        claims = [claim for claim, _ in supported]
        if len(supported) == 1:
            text = f"{self._verdict(*supported[0])}{self._turn(claims)}."
            llm_first = self.llm and self.group != SIMULATED_RATER and text.startswith(self.who)
            named = llm_first or _names_first(claims[0])  # a name keeps its letters
            return text if named else sentence(text)
        alike = len({self._turn([claim]) for claim in claims}) == 1
        if len(supported) <= MOST_CLAIMS:
            parts = [
                f"{sentence(self.names.criterion(claim.criterion))}{'' if alike else self._turn([claim])}: "
                f"{self._verdict(claim, evidence)}"
                for claim, evidence in supported
            ]
            return f"{'; '.join(parts)}{self._turn(claims) if alike else ''}."
        return self._summary(claims, alike)

    def _turn(self, claims: Sequence[HeadlineClaim]) -> str:
        """Return which ratings are good, in brackets, where all claims agree on it."""
        words = {"higher": " (higher is better)", "lower": " (lower is better)"}
        direction, criterion = claims[0].direction, claims[0].criterion
        if direction is not None and self.names.doubtful(criterion):
            return f" (if lower is better, --lower-is-better {shlex.quote(self.names.criterion(criterion))})"
        return "" if direction is None else words.get(direction, " (assumed: higher is better)")

    def _summary(self, claims: Sequence[HeadlineClaim], alike: bool) -> str:
        first: dict[str, list[str]] = {}
        for claim in claims:
            if claim.leader is not None and claim.strength in FIRST:
                name = self.names.criterion(claim.criterion)
                first.setdefault(claim.leader, []).append(name if alike else f"{name}{self._turn([claim])}")
        ahead = sorted(first.items(), key=lambda entry: -len(entry[1]))
        if not ahead:
            return f"Cannot be determined on any of {len(claims)} criteria."
        parts = [
            f"{self.names.system(system)} is first on {listed(criteria)}" for system, criteria in ahead[:MOST_CLAIMS]
        ]
        rest = f"; {plural(len(ahead) - MOST_CLAIMS, 'other system')} on the rest" if len(ahead) > MOST_CLAIMS else ""
        unnamed = len(claims) - sum(map(len, first.values()))
        none = f"; on {unnamed} nothing can be named first" if unnamed else ""
        return f"Of {len(claims)} criteria judged by {self.who}, {'; '.join(parts)}{rest}{none}" + (
            f"{self._turn(claims) if alike else ''}."
        )

    def _verdict(self, claim: HeadlineClaim, evidence: Evidence) -> str:
        """Return the claim as a clause that starts with who judged, or with who won everything."""
        if not claim.unbeaten or claim.leader in claim.unbeaten:
            return self._case(claim, evidence)
        unbeaten = [self.names.system(system) for system in claim.unbeaten]
        if len(unbeaten) > MANY_NAMES:
            unbeaten = shortened_list(unbeaten, SHOWN_OF_MANY)
        won = f"{listed(unbeaten)} won every comparison"
        if claim.reason:
            return f"{won} by {self.who}, but no test could be run ({claim.reason})"
        return f"{won}, which leaves no place to give; of the others, {self._case(claim, evidence)}"

    def _case(self, claim: HeadlineClaim, evidence: Evidence) -> str:
        names, who, s = self.names, self.who, self.s
        best, other = names.system(claim.leader), names.system(claim.runner_up)
        verb, most = f"{VERBS[self.source]}{s}", SUPERLATIVES[self.source]
        if self.source == "choices" and names.ordered(claim.criterion):
            verb, most = f"rank{s}", "highest"
        elif self.source == "ratings" and names.doubtful(claim.criterion):
            most = "highest"
        first = f"{who} {verb} {best} {most}"
        together = f"by all {'ratings' if self.source == 'ratings' else 'comparisons'} together"
        match claim.strength:
            case "clear":
                return f"{first}, clearly ahead of {other}{self._passed_over(claim)}"
            case "these_only":
                these, hard = self._these_only(claim, evidence), self._if_equally_hard(evidence)
                both = "," if these and hard else ""
                return f"{first}, ahead of {other}{these}{both}{hard}{self._passed_over(claim)}"
            case "skewed":
                return (
                    f"{first}, ahead of {other} by a test of highly skewed values, which finds too much"
                    f"{self._if_equally_hard(evidence)}{self._passed_over(claim)}"
                )
            case "unanimous":
                return self.alike(evidence)
            case "not_clear":
                if evidence.ahead not in (None, claim.leader):
                    return f"{who} put{s} {best} first {together}, but not clearly: between the two {other} is ahead"
                return f"{first}, but not clearly ahead of {other}{self._passed_over(claim)}"
            case "contradicted":
                where = "by the test of the two" if self.source == "ratings" else "where the two were compared"
                return (
                    f"no winner can be named: {who} put{s} {best} first {together}, although {other} is clearly better "
                    f"{where}"
                )
            case "circle":
                return (
                    f"no winner can be named: by the answers of {who}, {self.round(claim.circle)}, which no order fits"
                )
            case "tests_opposed":
                return (
                    f"no winner can be named: by the answers of {who}, {best} is clearly ahead of {other} in one test, "
                    f"and {other} of {best} in the test over other annotators and items"
                )
            case "weights_reverse":
                return f"no winner can be named: {self._one_and_the_others(evidence)}"
            case "items_decide":
                return f"no winner can be named: {self._over_all_items(evidence)}"
            case "no_leader" | "untested" if claim.leader is None and len(evidence.parts) > 1:
                return f"{who} name{s} nobody first, as some systems were never compared with the others"
            case "no_leader":
                if evidence.two and evidence.against is not None:
                    pair = evidence.against
                    return f"{who} put{s} neither {names.system(pair.x)} nor {names.system(pair.y)} clearly first"
                shared = [names.system(one) for one in evidence.first]
                tied = f": {listed(shared)} share it" if 1 < len(shared) <= MOST_CLAIMS else ""
                return f"{who} put{s} no system alone in first place{tied}"
        if claim.leader in claim.unbeaten and claim.leader is not None:
            reason = f" ({claim.reason})" if claim.reason else ""
            return f"{best} won every comparison by {who}, but no test could be run{reason}"
        reason = f" ({claim.reason})" if claim.reason else ""
        if claim.leader is not None:
            return f"{who} put{s} {best} first, but no test could be run{reason}"
        shared = [names.system(one) for one in evidence.first]
        if 1 < len(shared) <= MOST_CLAIMS:
            return f"{who} put{s} no system alone in first place: {listed(shared)} share it"
        return f"by the answers of {who}, the first place cannot be determined{reason}"

    def _passed_over(self, claim: HeadlineClaim) -> str:
        if not claim.passed_over:
            return ""
        between = listed([self.names.system(one) for one in claim.passed_over[:MOST_CLAIMS]])
        return f" (not compared with {between}, ranked between them)"

    def _these_only(self, claim: HeadlineClaim, evidence: Evidence) -> str:
        row = evidence.against
        by_item = claim.crossed is None and row is not None and unit_of(row) == "item"
        level_problem = row is not None and isinstance(row.test, RatingTest) and row.test.level_problem
        if claim.crossed != "not_shown" and not by_item and not level_problem:
            return ""  # but for the items of each
        if self.llm:
            return " in these answers only"
        if by_item:
            return f" with these {'people' if self.names.unnamed(self.group) else 'annotators'} only"
        return " on these items with these annotators only"

    def _if_equally_hard(self, evidence: Evidence) -> str:
        """Return the condition on which a test of different items speaks of the systems; nothing of other tests."""
        row = evidence.against
        if row is None or not isinstance(row.test, RatingTest) or not rests_on_own_items(row):
            return ""
        n = row.test.n_shared_items or 0
        return f" if their items are equally hard ({n or 'none'} {'is' if n < 2 else 'are'} of both)"

    def round(self, systems: Sequence[str]) -> str:
        """Return a circle: "A is chosen over B, B over C and C over A"."""
        names = [self.names.system(system) for system in systems]
        steps = [f"{x} over {y}" for x, y in zip(names, [*names[1:], names[0]], strict=True)]
        said = "rated above" if self.source == "ratings" else f"{PAST[self.source]} over"
        steps[0] = f"{names[0]} is clearly {said} {names[1]}"
        return listed(steps)

    def _over_all_items(self, evidence: Evidence) -> str:
        """Return that who is ahead over all items is not on those of both systems."""
        row = evidence.against
        if row is None or row.ahead is None or not isinstance(row.test, RatingTest):
            return "the systems were rated on different items"
        ahead, behind = self.names.system(row.ahead), self.names.system(row.y if row.ahead == row.x else row.x)
        return (
            f"{ahead} and {behind} were rated on different items, and {ahead} is not clearly ahead on the "
            f"{row.test.n_shared_items} of both"
        )

    def _one_and_the_others(self, evidence: Evidence) -> str:
        """Return "one person gave 200 of 210 answers; the other 5 choose B", or whom each way of counting favours."""
        row = evidence.against
        if row is None or row.ahead is None:
            return "who is ahead turns with how answers are weighed"
        test, names = row.test, self.names
        one = names.units(self.group, "assignment" if self.llm else "annotator", 1).removeprefix("1 ")
        ahead, behind = names.system(row.ahead), names.system(row.y if row.ahead == row.x else row.x)
        total = test.n_used or test.n_answers
        if test.most_of_one is None or total is None or replaced(row, test.others_estimate).ahead != row.ahead:
            return f"if every {one} counts the same, {ahead} is ahead; if every answer does, {behind}"
        by_item = unit_of(row) == "item"
        n = (self.annotators if evidence.two else 0) if by_item else test.n
        others = "the others" if n < 2 else "the other" if n == 2 else f"the other {n - 1}"
        verb = VERBS[self.source] + ("s" if n == 2 else "")
        rest = f"{verb} {ahead}{' higher' if self.source == 'ratings' else ''}"
        return f"one {one} gave {test.most_of_one} of {total} answers; {others} {rest}"

    def alike(self, evidence: Evidence) -> str:
        """Return "all 14 people chose A in all 56 comparisons (chance at most .0002 if there were no preference)"."""
        row = evidence.against
        if row is None or row.ahead is None or row.value is None:
            return "all answers are the same"
        names, test = self.names, row.test
        best, other = names.system(row.ahead), names.system(row.y if row.ahead == row.x else row.x)
        n = test.all_alike or test.n
        all_units = names.units(self.group, "item" if names.unnamed(self.group) else "annotator", n)
        all_units = f"both {all_units.removeprefix('2 ')}" if n == 2 else f"all {all_units}"
        if n < self.annotators and not evidence.two:
            all_units += " who compared them"
        subject = f"{self.who}, on {all_units}," if self.llm else all_units
        share = 1 - row.value if row.ahead == row.y else row.value
        over = "" if evidence.two else f" over {other}"
        if isinstance(test, ChoiceTest):
            n = test.wins_x + test.wins_y + test.ties
            how = f"in all {n} comparisons" if share == 1.0 else f"in {percent(share)} of comparisons each"
            said = f"chose {best}{over} {how}"
            if names.ordered(test.criterion):
                said = f"ranked {best} above {other}" + ("" if share == 1.0 else f" {percent(share)} of the time each")
        elif isinstance(test, RatingTest):
            said = f"rated {best} {number(abs(row.value))} points above {other}"
        else:
            said = f"put the chance that {best} is better{'' if evidence.two else f' than {other}'} at {percent(share)}"
        return f"{subject} {said} ({chance(row.p_unanimous)})"


def replaced(row: PairResult, estimate: float | None) -> PairResult:
    """Return a row with another estimate of its own, in its direction."""
    name = {"preferences": "mean", "choices": "win_rate", "ratings": "mean_difference"}[row.source]
    return PairResult(
        source=row.source,
        test=replace_fields(row.test, **{name: estimate}),
        confidence=row.confidence,
        lower_is_better=row.lower_is_better,
    )


def chance(bound: float | None) -> str:
    """Return a bound on a chance, rounded up: "chance at most .0002 if there were no preference".

    >>> chance(0.000122), chance(0.25), chance(1e-9)[:19]
    ('chance at most .0002 if there were no preference', 'chance at most .25 if there were no preference', \
'chance below .0001 ')
    """
    if bound is None or bound >= 1:
        return "which chance alone may bring about"
    where = "if there were no preference"
    if bound < 1e-4:
        return f"chance below .0001 {where}"
    decimals = 4 if bound < 0.001 else 3 if bound < 0.1 else 2
    up = math.ceil(round(bound * 10**decimals, 6)) / 10**decimals
    return f"chance at most {f'{up:.{decimals}f}'.removeprefix('0')} {where}"


def _names_first(claim: HeadlineClaim) -> bool:
    """Tell whether the first line begins with those who won every comparison."""
    return bool(claim.unbeaten) and (claim.leader not in claim.unbeaten or claim.strength == "untested")


def unit_of(row: PairResult) -> str:
    """Return what the test of a row counts: "annotator", "assignment" or "item"."""
    return getattr(row.test, "unit", "annotator")
