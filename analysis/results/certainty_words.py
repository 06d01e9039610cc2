"""By how much the first of a ranking is ahead, and for whom that holds, in words that depend on its case alone."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.answers.live_rows import turned_live
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingTest
from analysis.printing.live_words import live_evidence
from analysis.printing.lookup import PairResult
from analysis.printing.words import (
    compared_with,
    interval,
    number,
    p_value,
    percent,
    plural,
    sentence,
    share_interval,
)
from analysis.results.claim_words import SupportedClaim, Wording, unit_of
from analysis.results.claims import FIRST, NAMED, Evidence, rests_on_own_items
from analysis.results.headline_rows import Crossed, HeadlineClaim

FEW_USED = 0.9  # share of a pair's answers; where fewer enter its test, the share is said


class CertaintyWording(Wording):
    """Words for how far what one group answered goes."""

    def certainty(self, supported: Sequence[SupportedClaim], further: Sequence[str]) -> str:
        """Return by how much, and for whom it holds; ``further`` stands before for whom."""
        if len(supported) == 1:
            claim, evidence = supported[0]
            parts = [self._decided(evidence) or self._evidence(claim, evidence)]
            if claim.strength == "not_clear" and evidence.decided is None and evidence.against is not None:
                close = evidence.against.test.equivalent
                parts.append(
                    "They are equivalent within the declared margin."
                    if close
                    else "This does not show that they are equal."
                )
        else:
            parts = [self._counted([claim for claim, _ in supported])]
        parts += further
        if simulated := self.made_by_a_program():
            parts += simulated
        elif self.llm:
            parts.append(self._of_an_llm(supported))
        else:
            parts.append(self.scope(supported))
        return " ".join(part for part in parts if part)

    def made_by_a_program(self) -> list[str]:
        """Return what must be said of simulated annotators; nothing of others."""
        return ["This shows how the method works, not what people think."] if self.names.simulated(self.group) else []

    def _counted(self, claims: Sequence[HeadlineClaim]) -> str:
        n = len(claims)
        clear, here, skewed = (
            sum(claim.strength in cases for claim in claims)
            for cases in (("clear", "unanimous"), ("these_only",), ("skewed",))
        )
        more = " more" if clear else ""
        whom = "people" if self.names.unnamed(self.group) else "annotators"
        only = f", and on {here}{more} for these {whom} and items only" if here else ""
        far = f", and on {skewed} by highly skewed values" if skewed else ""
        return f"The first place is clear on {clear or 'none'} of {n} criteria{only}{far}."

    def _of_an_llm(self, found: Sequence[SupportedClaim]) -> str:
        named = [evidence.against for claim, evidence in found if claim.strength in NAMED]
        rows = [row for row in named if row is not None]
        if not rows:
            return ""
        if all(unit_of(row) == "item" for row in rows):
            return "It holds for further items that this LLM judges, not for people."
        return "It holds for further forms that this LLM answers, not for people."

    def _decided(self, evidence: Evidence) -> str:
        live, decided = self.results.live, evidence.decided
        if live is None or decided is None:
            return ""
        row = decided if decided.system_x == evidence.leader else turned_live(decided)
        return live_evidence(live, row, self.names)

    def _evidence(self, claim: HeadlineClaim, evidence: Evidence) -> str:
        row = evidence.against
        if claim.strength == "circle":
            return "Each of these comparisons is clear by itself; how far apart the systems are cannot be said."
        if claim.strength == "unanimous":
            return "All values are the same, so that no interval can be given."
        if row is None or row.value is None:
            shared = claim.strength == "no_leader" and len(evidence.first) > 1
            return "No test tells apart who shares it." if shared else "No test of the first place could be run."
        if row.test.p_value is None and row.p_unanimous is not None:
            return f"{sentence(self.alike(evidence))}."
        if claim.strength == "items_decide" and isinstance(row.test, RatingTest):
            on_both = row.test.shared_difference or 0.0
            side = "ahead" if on_both * row.test.mean_difference > 0 else "behind"
            both = f"{number(abs(on_both), 2)} points {side} on those of both"
            return f"Over all items, {self._estimate(row, evidence)}{self._used(row)}; {both}."
        return f"{self._estimate(row, evidence)}{self._used(row)}."

    def _estimate(self, row: PairResult, evidence: Evidence) -> str:
        names, test, low, high = self.names, row.test, row.test.ci_low, row.test.ci_high
        value, marks = row.value or 0.0, compared_with(self.results, row.source)
        turned = row.ahead == row.y
        best, other = (names.system(one) for one in ((row.y, row.x) if turned else (row.x, row.y)))
        level, unsaid = f"{row.confidence} confidence interval", evidence.ahead != evidence.leader
        if row.source == "ratings":
            shown = f"{best} is {number(abs(value))} points ahead{f' of {other}' if unsaid else ''}"
            if row.ahead is None:
                shown = f"The mean ratings of {best} and {other} differ by {number(0.0)} points"
            if low is not None and high is not None:
                low, high = (low, high) if value >= 0 else (-high, -low)
                shown += f" ({level} {interval(low, high, marks=marks)})"
        else:
            share, than = 1 - value if turned else value, f" than {other}" if unsaid else ""
            what = "{they} put{s} the chance that {best} is better{than} at {share} on average"
            if row.source == "choices" and not getattr(test, "probabilities", False):
                what = "{they} chose {best} over {other} {share} of the time on average"
                if names.ordered(test.criterion):
                    what = "{they} ranked {best} above {other} {share} of the time on average, ties half"
            end = names.comparison_end if getattr(test, "probabilities", False) else None
            shown = what.format(they=self.they, s=self.s, best=best, other=other, than=than, share=percent(share))
            if end is not None:
                scale = f"on the scale from \u2212{end:g} to {end:g}"
                by = f"{number(end * (2 * share - 1))} better than {other} {scale}"
                shown = f"{self.they} scored {best} {by} on average"
                if low is not None and high is not None:
                    low, high = sorted(end * (2 * bound - 1) * (-1 if turned else 1) for bound in (low, high))
                    shown += f" ({level} {interval(low, high, marks=marks)})"
            elif low is not None and high is not None:
                shown += f" ({level} {share_interval(*((1 - high, 1 - low) if turned else (low, high)), marks=marks)})"
        p = f"; adjusted {p_words(test.p_adjusted)}" if test.decision is None else ""
        of = names.unnamed(self.group)
        return f"{shown}{p}, n = {names.units(self.group, unit_of(row), test.n)}{f' ({of})' if of else ''}"

    def _used(self, row: PairResult) -> str:
        used, given = row.test.n_used, row.test.n_answers
        if used is None or not given or used / given >= FEW_USED:
            return ""
        return f", from {used:,} of {given:,} answers about the two"

    def scope(self, supported: Sequence[SupportedClaim]) -> str:
        """Return for whom the claims hold: these annotators and items, or others like them."""
        tested = [(claim, row) for claim, evidence in supported if (row := _compared(claim, evidence)) is not None]
        if not tested:
            return ""
        one = len(supported) == 1
        by_case: dict[Crossed | None, list[HeadlineClaim]] = {}
        for claim, _ in tested:
            by_case.setdefault(claim.crossed, []).append(claim)
        parts = []
        for case, claims in by_case.items():
            where = "" if one else f" on {plural(len(claims), 'criterion', 'criteria')}"
            least = min((one.p_crossed_adjusted for one in claims if one.p_crossed_adjusted is not None), default=None)
            p = f"{'' if len(claims) == 1 else 'smallest '}crossed {p_words(least)}"
            match case:
                case "not_shown":
                    parts.append(f"For other annotators and items it is not shown{where} ({p}).")
                case "agrees" if one or len(by_case) == 1:
                    parts.append(f"The test over other annotators and items agrees{where}.")
                case "open" if one:
                    parts.append(f"Nor does the test over other annotators and items find a difference ({p}).")
                case "open":
                    parts.append(f"Neither test finds a difference{where}.")
                case "alone":
                    what = f" {self.names.system(crossed_winner(tested[0][1]))} better" if one else " a difference"
                    parts.append(f"Only the test over other annotators and items finds{what}{where} ({p}).")
        parts += self._untested([row for claim, row in tested if claim.crossed is None and claim.strength in NAMED])
        return " ".join(parts)

    def _untested(self, rows: Sequence[PairResult]) -> list[str]:
        """Return for whom tests hold that have no crossed test beside them, of the claims that name a winner."""
        if any(isinstance(row.test, RatingTest) and row.test.level_problem for row in rows):
            return ["The test does not keep its level on this design."]
        rows = [row for row in rows if not row.test.highly_skewed]
        if not rows:
            return []
        if all(isinstance(row.test, PreferenceTest) for row in rows):
            return ["It holds for annotators like these with these outputs."]
        if all(isinstance(row.test, RatingTest) and row.test.n_items for row in rows):
            if all(map(rests_on_own_items, rows)):
                return ["It holds for annotators like these, and of each system for items like its own."]
            return ["It holds for annotators and items like these."]
        if self.names.unnamed(self.group):
            return ["It holds for further items judged by such people; other people were not tested."]
        if any(unit_of(row) == "item" for row in rows):
            return ["It holds for further items judged by these annotators; other annotators were not tested."]
        return ["It holds for annotators like these, who judged these items; other items were not tested."]


def crossed_winner(row: PairResult) -> str | None:
    """Return whom the crossed test finds better."""
    return {"x": row.x, "y": row.y}.get(row.test.crossed_verdict or "")


def p_words(value: float | None) -> str:
    """Return "p = .012" or "p < .001"."""
    text = p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _compared(claim: HeadlineClaim, evidence: Evidence) -> PairResult | None:
    """Return the test that a claim rests on, where a test and no decision does, and it names somebody first."""
    named = claim.strength in (*FIRST, "contradicted")
    row = evidence.against
    return row if named and row is not None and evidence.decided is None and row.test.decision is None else None
