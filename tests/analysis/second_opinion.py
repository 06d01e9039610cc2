"""The tests and the first page of a random study, worked out anew from its answers by scipy and plain Python.

What is compared: who counts; each test that is a one-sample t of units; both corrections; who leads by how much in
words; which caveats stand there. Tests of ratings that hardly pair, and of items that annotators answered unevenly
often, have oracles of their own.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from tests.analysis.random_studies import RandomStudy

Row = dict[str, Any]
KINDS = {"human": 0, "simulated": 1, "llm": 2}  # the first page speaks of people, else of simulated ones
VALUE = {"preferences": "mean", "choices": "win_rate", "ratings": "mean_difference"}
ANSWER = {"preferences": "preference", "choices": "winner", "ratings": "score", "orders": "rank"}
WON = {"x": 1.0, "y": 0.0, "tie": 0.5}
FEW = 10  # annotators, below which items are the unit
AHEAD = re.compile(r"(\S+) (?:most|best|highest), (clearly )?ahead of ([^\s.;,(]+)")
SHARE = re.compile(r"better(?: than \S+)? at ([\d.]+)% on|over \S+ ([\d.]+)% of|above \S+ ([\d.]+)% of")
SAID_AHEAD = re.compile(r"that (\S+) is better|chose (\S+) over|ranked (\S+) above|^(\S+) is [\d.]+ points")


def near(one: float | None, other: float | None, tolerance: float = 1e-7) -> bool:
    """Tell whether two numbers, or two missing ones, are the same."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-9)


def group_of(row: Row) -> str:
    """Return who are analysed together with the annotator of a row."""
    if row["annotator_kind"] == "llm":
        return "/".join(filter(None, (row["annotator_id"], row.get("variant"))))
    return str(row.get("group") or row["annotator_kind"])


def corrected(p_values: Sequence[float], n: int, correction: str) -> list[float]:
    """Return p-values of a family of n, adjusted by Holm or Benjamini-Hochberg, one after the other."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    found = [0.0] * len(p_values)
    if correction == "holm":
        for before, place in enumerate(order):
            least = found[order[before - 1]] if before else 0.0
            found[place] = max(least, min(1.0, (n - before) * p_values[place]))
        return found
    most = 1.0
    for rank in range(len(order), 0, -1):
        most = min(most, p_values[order[rank - 1]] * n / rank)
        found[order[rank - 1]] = most
    return found


def choices_of(orders: Iterable[Row]) -> list[Row]:
    """Return the choices that orders imply."""
    lists: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in orders:
        about = ("annotator_id", "assignment_id", "variant", "item_id", "criterion")
        lists[tuple(row.get(name) for name in about)].append(row)
    return [
        one | {"system_x": one["system"], "system_y": other["system"], "winner": winner}
        for own in lists.values()
        for place, one in enumerate(own)
        for other in own[place + 1 :]
        for winner in ["tie" if one["rank"] == other["rank"] else "x" if one["rank"] < other["rank"] else "y"]
    ]


@dataclass(frozen=True, kw_only=True)
class SecondOpinion:
    """A random study, and its results as ``results.json`` has them."""

    study: RandomStudy
    results: Row

    def disagreements(self) -> list[str]:
        """Return in what results and answers, or the first page and its rows, disagree."""
        every = (self.of_groups(), self.of_tests(), self.of_families(), self.of_claims(), self.of_caveats())
        return [text for some in every for text in some]

    @cached_property
    def answers(self) -> Mapping[str, list[Row]]:
        """Return the rows of each table, orders and chances of items as the choices that they are."""
        found = {kind: table.to_dicts() for kind, table in self.study.tables.items()}
        if "orders" in found:
            found["choices"] = choices_of(found["orders"])
        if any("item_id" in row for row in found.get("preferences", ())):
            found["choices"] = found.pop("preferences")
        return found

    @cached_property
    def people(self) -> Mapping[str, set[str]]:
        """Return who is in each group."""
        found: dict[str, set[str]] = defaultdict(set)
        for table in (table for kind, table in self.study.tables.items() if kind in ANSWER):
            for row in table.to_dicts():
                found[group_of(row)].add(row["annotator_id"])
        return found

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """Return the kind of each group."""
        return {row["group"]: row["annotator_kind"] for row in self.results["groups"]}

    @cached_property
    def left_out(self) -> set[tuple[str, str, str | None]]:
        """Return who stated two chances that add up to more than allowed; of LLMs the assignment."""
        bound = self.study.plan.consistency_tau
        cells: dict[Any, dict[str, list[Fraction]]] = defaultdict(lambda: defaultdict(list))
        for row in self.study.tables["preferences"].to_dicts() if "preferences" in self.study.tables else ():
            if row["preference"] is not None:
                form = row.get("assignment_id") if row["annotator_kind"] == "llm" else None
                about = (row["criterion"], row.get("item_id"), row.get("exposure"))
                pair = frozenset((row["system_x"], row["system_y"]))
                side = cells[(group_of(row), row["annotator_id"], form), about, pair][row["system_x"]]
                side.append(Fraction(str(row["preference"])))
        return {
            who
            for (who, *_), sides in cells.items()
            if bound is not None and len(sides) > 1
            if sum(sum(side) / len(side) for side in sides.values()) > Fraction(bound)
        }

    def excluded(self, group: str) -> int:
        """Return how many people of a group left."""
        return len({name for of, name, form in self.left_out if of == group and form is None})

    def rows(self, source: str) -> list[Row]:
        """Return the tests of one source that something is concluded from."""
        found = self.results[source]
        rows: list[Row] = found if source == "preferences" else found["pairs"]
        return [row for row in rows if row.get("reason_code") != "outside_family"]

    def of_groups(self) -> Iterator[str]:
        """Compare who answered, and who left."""
        found = {row["group"]: (row["annotators"], row["excluded_annotators"]) for row in self.results["groups"]}
        for group, names in self.people.items():
            gone = self.excluded(group) if self.kinds.get(group) != "llm" else found.get(group, (0, 0))[1]
            if found.get(group) != (len(names), gone):
                yield f"group {group}: {found.get(group)}, by the answers {len(names), gone}"

    # Tests

    def of_tests(self) -> Iterator[str]:
        """Compare units, estimate, p-value and interval of each test that is a one-sample t."""
        for source in VALUE:
            for row in self.rows(source):
                values = self.by_unit(source, row)
                if values is None:
                    continue
                about = f"{source}, {row['group']}, {row['criterion']}, {row['system_x']} and {row['system_y']}"
                if row["n"] != len(values):
                    yield f"{about}: n = {row['n']}, by the answers {len(values)}"
                    continue
                if not values:
                    continue
                means = [float(np.mean([value for _, value in own])) for own in values.values()]
                if row.get("unit") == "item" and self.study.plan.unit == "auto":  # annotators weigh the same
                    yield from self._of_equals(row, row[VALUE[source]], [*values.values()], about)
                    continue
                even = 0.0 if source == "ratings" else 0.5
                wanted: tuple[float | None, ...] = (float(np.mean(means)), None, None, None)
                if len(means) > 1 and np.ptp(np.round(means, 12)) > 0:
                    test = stats.ttest_1samp(means, even)
                    ends = test.confidence_interval(self.study.plan.confidence)
                    wanted = (wanted[0], float(test.pvalue), float(ends.low), float(ends.high))
                found = (row[VALUE[source]], row["p_value"], row["ci_low"], row["ci_high"])
                if not all(near(one, other, 1e-6) for one, other in zip(found, wanted, strict=True)):
                    yield f"{about}: {found}, by the answers {wanted}"

    def _of_equals(self, row: Row, found: float, values: list[list[tuple[Any, float]]], about: str) -> Iterator[str]:
        by_name: dict[Any, list[float]] = defaultdict(list)
        for who, value in (one for own in values for one in own):
            by_name[who if self.kinds[row["group"]] == "llm" else who[0]].append(value)
        wanted = float(np.mean([np.mean(own) for own in by_name.values()]))
        if len(self.people[row["group"]]) < FEW and not near(found, wanted):
            yield f"{about}: {found}, by the answers of equals {wanted}"

    def by_unit(self, source: str, row: Row) -> dict[Any, list[tuple[Any, float]]] | None:
        """Return what each unit of a test gave: who, in which assignment, and the value; ``None`` of other tests."""
        x, y = row["system_x"], row["system_y"]
        own = [
            one
            for one in self.answers.get(source, ())
            if (group_of(one), one["criterion"]) == (row["group"], row["criterion"])
            and not {(row["group"], one["annotator_id"], form) for form in (None, one.get("assignment_id"))}
            & self.left_out
        ]
        if source == "ratings":
            return None if row["test"] != "paired t" else self._of_ratings(own, row)
        own = [one for one in own if {one["system_x"], one["system_y"]} == {x, y}]
        found: dict[Any, list[tuple[Any, float]]] = defaultdict(list)
        sides: dict[Any, list[float]] = defaultdict(list)
        for one in own:
            value = one["preference"] if "preference" in one else WON.get(one["winner"])
            if value is None:
                continue
            value, who = value if one["system_x"] == x else 1 - value, (one["annotator_id"], one.get("assignment_id"))
            if source == "choices":
                found[_unit(who, one["item_id"], row["unit"])].append((who, value))
            elif row["exposure"] == (None if one.get("exposure") is None else int(one["exposure"])):
                sides[who if self.kinds[row["group"]] == "llm" else who[0], one["system_x"] == x].append(value)
        for (who, _), values in sides.items():  # both directions count the same
            found[who].append((who, float(np.mean(values))))
        return found

    def _of_ratings(self, own: list[Row], row: Row) -> dict[Any, list[tuple[Any, float]]]:
        """Return differences; repeats are averaged within their sample of an output, samples within the output."""
        cells: dict[Any, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
        for one in own:
            if one["score"] is not None:
                who = one["annotator_id"], one.get("assignment_id")
                cells[who, one["item_id"], one["system"]][one.get("sample")].append(one["score"])
        found: dict[Any, list[tuple[Any, float]]] = defaultdict(list)
        for (who, item, system), score in cells.items():
            beside = cells.get((who, item, row["system_y"]))
            if system == row["system_x"] and beside is not None:
                x, y = (float(np.mean([np.mean(sample) for sample in one.values()])) for one in (score, beside))
                found[_unit(who, item, row["unit"])].append((who, x - y))
        return found

    def of_families(self) -> Iterator[str]:
        """Compare adjusted p-values, and what they find."""
        plan = self.study.plan
        for source in VALUE:
            families: dict[Any, list[Row]] = defaultdict(list)
            for row in self.rows(source):
                families[row["group"], None if plan.family == "all" else row["criterion"]].append(row)
            for key, members in families.items():
                tested = [row for row in members if row["p_value"] is not None]
                unanimous = any(row["p_unanimous"] is not None for row in members)
                n = len(members) if unanimous else len(tested)
                adjusted = corrected([row["p_value"] for row in tested], n, plan.correction)
                for row, wanted in zip(tested, adjusted, strict=True):
                    ahead = self.ahead(source, row)
                    verdict = {row["system_x"]: "x", row["system_y"]: "y"}.get(ahead or "", "indifferent")
                    verdict = verdict if float(f"{wanted:.12g}") <= plan.fwer else "indifferent"
                    if not near(row["p_adjusted"], wanted) or row["verdict"] != verdict:
                        yield f"{source}, {key}: {row['p_adjusted']}, {row['verdict']}, not {wanted}, {verdict}"

    # The first page

    def ahead(self, source: str, row: Row) -> str | None:
        """Return whom the estimate of a test favours."""
        value = row[VALUE[source]]
        if value is None:
            return None
        lower = row["criterion"] in self.study.plan.lower_is_better
        lead = value * (-1 if lower else 1) if source == "ratings" else value - 0.5
        return None if lead == 0 else row["system_x"] if lead > 0 else row["system_y"]

    def clear(self, row: Row) -> bool:
        """Tell whether a test, or a bound where all agree, reaches the level."""
        p = row["p_unanimous"] if row["p_value"] is None else row["p_adjusted"]
        return p is not None and p <= self.study.plan.fwer * (1 + 1e-9)

    def of_claims(self) -> Iterator[str]:
        """Compare who wins and by how much with the tests of the group that gave most answers."""
        page, asked = self.results["headline"], {*self.study.tables}
        sources = ["preferences", "choices", "ratings"] if asked != {"orders", "ratings"} else ["ratings", "choices"]
        source = next((one for one in sources if self.rows(one)), None)
        if source is None or page["source"] != source:
            yield from () if source is None else (f"source {page['source']}, not {source}",)
            return
        given: Counter[str] = Counter()
        for row in self.results["preferences"] if source == "preferences" else self.results[source]["pairs"]:
            given[row["group"]] += row["n"] if source == "preferences" else row["n_answers"]
        group = min(given, key=lambda one: (KINDS[self.kinds[one]], -given[one], one))
        if page["group"] != group:
            yield f"group {page['group']}, not {group}"
            return
        claims = page["claims"]
        texts = [page["winner"].replace("\u00a0", " ")]
        if 1 < len(claims) <= 3:
            texts = re.split(r"; (?=[A-Z]\w+(?::| \())", texts[0])
        for claim, text in zip(claims, texts, strict=False) if len(claims) <= 3 else ():
            yield from self._of_claim(source, group, claim, text)
        sure = page["certainty"].replace("\u00a0", " ")
        if len(claims) == 1:
            yield from self._of_numbers(source, group, claims[0], sure)
            return
        clear = sum(claim["strength"] in ("clear", "unanimous") for claim in claims)
        if not sure.startswith(f"The first place is clear on {clear or 'none'} of {len(claims)} criteria"):
            yield f"{clear} of {len(claims)} are clear: {sure}"

    def _latest(self, source: str, group: str, criterion: str) -> dict[frozenset[str], Row]:
        """Return the test of each pair, of several exposures that of the largest."""
        rows = [row for row in self.rows(source) if (row["group"], row["criterion"]) == (group, criterion)]
        rows = [row for row in rows if row["verdict"] is not None or row["p_unanimous"] is not None]
        rows.sort(key=lambda row: row.get("exposure") or 0)
        return {frozenset((row["system_x"], row["system_y"])): row for row in rows}

    def _of_claim(self, source: str, group: str, claim: Row, text: str) -> Iterator[str]:
        tests = self._latest(source, group, claim["criterion"])
        named = AHEAD.search(text)
        if named is None:
            row = tests.get(frozenset((claim["leader"], claim["runner_up"])))
            if "not clearly" in text and (row is None or self.clear(row)):
                yield f"clear, though: {text}"
            return
        best, clearly, other = named.groups()
        row = tests.get(frozenset((best, other)))
        if row is None or not self.clear(row) or self.ahead(source, row) != best:
            yield f"not shown: {text}"
            return
        beside = row.get("crossed_verdict") in (None, row["verdict"]) and not row.get("level_problem")
        if clearly and (row.get("highly_skewed") or row.get("weights_reverse") or not beside):
            yield f"not so clear: {text}"
        places = [
            {system: place for place, tied in enumerate(one["order"]) for system in tied}
            for one in self.results["rankings"]
            if (one["source"], one["group"], one["criterion"]) == (source, group, claim["criterion"])
        ]
        if source == "ratings" and len(tests) > 1:
            sign = -1 if claim["criterion"] in self.study.plan.lower_is_better else 1
            means = {
                one["system"]: sign * one["mean"]
                for one in self.results["ratings"]["means"]
                if (one["group"], one["criterion"]) == (group, claim["criterion"])
            }
            if max(means.values()) > means[best] + 1e-9:
                yield f"another mean is better: {text}"
        for pair, test in tests.items():
            rival = next(iter(pair - {best}), None) if best in pair else None
            if rival is None:
                continue
            if places and places[0].get(rival, math.inf) < places[0].get(other, math.inf):
                yield f"{rival} is nearer: {text}"
            if self.clear(test) and self.ahead(source, test) == rival:
                yield f"{rival} is better: {text}"

    def _of_numbers(self, source: str, group: str, claim: Row, sure: str) -> Iterator[str]:
        """Compare n, p, estimate and interval in words with the row that they are of, to their rounding."""
        pair = frozenset((claim["leader"], claim["runner_up"]))
        row, n = self._latest(source, group, claim["criterion"]).get(pair), re.search(r"n = ([\d,]+) ", sure)
        if row is None or n is None:
            return
        value, points = row[VALUE[source]], re.search(r"is ([\d.]+) points ahead", sure)
        fits = int(n[1].replace(",", "")) == row["n"]
        p = re.search(r"adjusted p (=|<) ([\d.]+\d)", sure)
        if p is not None:
            fits &= row["p_adjusted"] < 0.001 if p[1] == "<" else abs(float(p[2]) - row["p_adjusted"]) < 5.1e-4
        if points is not None:
            fits &= abs(float(points[1]) - abs(value)) < 5.1e-3
        if share := SHARE.search(sure):
            said = float(next(filter(None, share.groups()))) / 100
            fits &= min(abs(said - value), abs(said - 1 + value)) < 5.1e-4
        first = SAID_AHEAD.search(sure)
        if first is not None and self.ahead(source, row) is not None:
            fits &= next(filter(None, first.groups())) == (
                self.ahead(source, row) if source != "ratings" or points is not None else None
            )
        if not fits:
            yield f"{value}, p = {row['p_adjusted']}, n = {row['n']}: {sure}"

    def of_caveats(self) -> Iterator[str]:
        """Compare which caveats stand there with whether their condition holds, and how many they count."""
        page, plan = self.results["headline"], self.study.plan
        said: dict[str, list[str]] = defaultdict(list)
        for problem in (*page["problems"], *page["more_problems"]):
            said[problem["kind"]].append(problem["text"].replace("\u00a0", " "))
        rows = [row for source in VALUE for row in self.rows(source)]
        groups = [group for group, kind in self.kinds.items() if kind != "llm"]
        gone = {group: (self.excluded(group), len(self.people[group])) for group in groups}
        missing = sum(
            int(table[ANSWER[kind]].null_count()) for kind, table in self.study.tables.items() if kind in ANSWER
        )
        untested = [row for row in rows if row["p_value"] is None and not self.clear(row)]
        counted = {
            "missing_answers": missing,
            "untested": len(untested),
            "highly_skewed": sum(bool(row.get("highly_skewed")) for row in rows),
            "level_not_held": sum(bool(row.get("level_problem")) for row in rows),
        }
        holds = {
            **{kind: n > 0 for kind, n in counted.items()},
            "one_gave_most": any(row.get("one_gave_most") for row in rows),
            "assumed_direction": bool(self.results["ratings"]["pairs"]) and not plan.lower_is_better,
            "many_excluded": any(n / 3 < left < n for left, n in gone.values()),
            "all_excluded": any(0 < left == n for left, n in gone.values()),
            "few_annotators": any(
                0 < n - left < FEW for group, (left, n) in gone.items() if self.kinds[group] == "human"
            ),
        }
        for kind, held in holds.items():
            if held != bool(said[kind]):
                yield f"caveat {kind}: {said[kind]}, though it holds: {held}"
        for kind, n in counted.items():
            numbers = [int(found[0].replace(",", "")) for text in said[kind] if (found := re.match(r"[\d,]+", text))]
            if numbers and numbers != [n]:
                yield f"{n}, not {said[kind]}"
        if ("llm" in self.kinds.values()) == (page["stand_in"] == "No LLM answered."):
            yield f"LLMs: {page['stand_in']}"


def _unit(who: tuple[Any, ...], item: str, unit: str) -> Any:
    return {"item": item, "assignment": who, "annotator": who[0]}[unit]
