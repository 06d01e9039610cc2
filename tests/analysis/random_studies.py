"""Random studies with known truth: many ways of asking, designs, kinds of annotators and plans, the same for a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from analysis import AnswerTables, Plan, Reading, analyse, check_frames
from analysis.records.results import Results
from spa.records.system_roles import UnrankedSystem

Tables = dict[str, pl.DataFrame]
Rows = list[dict[str, Any]]
NAMES = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ironwood", "juniper", "karri", "larch")
CRITERIA = ("errors", "fluency", "overall", "style")
SCALES = {"five": (1, 5, 1.0), "seven": (-3, 3, 1.0), "slider": (0, 100, 0.1), "unit": (0, 1, 0.01)}
MOST_ROWS = 1500  # of a table, about
SCHEMA = {"score": pl.Float64, "rank": pl.Int64, "preference": pl.Float64}


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomStudy:
    """Tables of answers, how they are analysed, and what they were drawn from.

    Attributes
    ----------
    tables : dict
        By kind, as :func:`analysis.check_frames` takes them.
    plan, reading : Plan, Reading
        How they are analysed and read.
    utility : dict
        By criterion and system: the larger the better, whichever scores say so; all 0 of a study under the null.
    """

    tables: Tables
    plan: Plan
    reading: Reading = field(default_factory=Reading)
    utility: Mapping[str, Mapping[str, float]]

    def check(self) -> AnswerTables:
        """Check its tables."""
        return check_frames(self.tables, self.reading)

    def analyse(self) -> Results:
        """Analyse it."""
        return analyse(self.check(), self.plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who answers, with their leaning, their taste and the share of questions that they answer."""

    name: str
    kind: str
    severity: float
    taste: Mapping[str, float]
    share: float
    group: str | None = None
    variant: str | None = None
    visits: tuple[str | None, ...] = (None,)


class Draw:
    """One random study in the making."""

    def __init__(self, rng: np.random.Generator, *, null: bool, people: int | None = None) -> None:
        """Draw the design that all tables share."""
        self.rng, pick = rng, rng.choice
        self.systems = [str(name) for name in pick(NAMES, int(pick([2, 2, 3, 3, 4, 5, 7, 12])), replace=False)]
        self.criteria = [str(name) for name in pick(CRITERIA, int(pick([1, 1, 2, 3, 4])), replace=False)]
        self.lower = frozenset(one for one in self.criteria if one == "errors" or rng.random() < 0.1)
        self.scale = {one: str(pick([*SCALES])) for one in self.criteria}
        self.items = [f"i{number:02}" for number in rng.permutation(int(pick([1, 3, 8, 20])))]
        self.half = str(pick(self.criteria)) if rng.random() < 0.3 else None
        size = 0.0 if null else float(pick([0.0, 0.3, 1.0, 3.0]))
        self.utility = {
            one: dict(zip(self.systems, rng.normal(0, size, len(self.systems)), strict=True)) for one in self.criteria
        }
        self.own = str(pick(["", "", "", "items", "people"]))
        self.scarce = str(pick(self.systems)) if rng.random() < 0.3 else None
        self.missing = float(pick([0, 0, 0.05, 0.3]))
        self.people = [*self._people(people), *self._models()]

    def _people(self, given: int | None) -> Iterator[Person]:
        rng, pick = self.rng, self.rng.choice
        n = given or int(pick([2, 3, 5, 9, 10, 12, 20, 40]))
        most, taste = rng.random() < 0.3, float(pick([0, 0.3, 1]))
        groups, kind = rng.random() < 0.2, "simulated" if rng.random() < 0.1 else "human"
        for number in rng.permutation(n):
            yield Person(
                name=f"p{number:02}",
                kind=kind,
                severity=float(rng.normal(0, 0.5)),
                taste={one: float(rng.normal(0, taste)) for one in self.systems},
                share=(1.0 if number == 0 else 0.9 / max(1, n - 1)) if most else float(pick([1, 1, 0.7])),
                group=("experts" if number % 2 else "crowd") if groups else None,
            )

    def _models(self) -> Iterator[Person]:
        rng = self.rng
        for number in range(int(rng.choice([0, 0, 0, 1, 2]))):
            visits = tuple(f"v{visit}" for visit in range(int(rng.choice([1, 3, 12]))))
            for variant in ("plain", "steps") if rng.random() < 0.3 else (None,):
                taste = {one: float(rng.normal(0, 0.3)) for one in self.systems}
                yield Person(
                    name=f"model{number}", kind="llm", severity=0.2, taste=taste, share=1.0, variant=variant,
                    visits=visits,
                )  # fmt: skip

    def feels(self, person: Person, system: str, criterion: str) -> float:
        """Return how good an output is felt to be."""
        return self.utility[criterion][system] + person.taste[system] + float(self.rng.normal(0, 1))

    def about(self, person: Person, visit: str | None, criterion: str) -> dict[str, Any]:
        """Return the columns of who answers what."""
        row: dict[str, Any] = {"annotator_id": person.name, "annotator_kind": person.kind, "criterion": criterion}
        row |= {"assignment_id": None if visit is None else f"{visit}{person.name}{person.variant or ''}"}
        return row | {"group": person.group, "variant": person.variant}

    def asked(self, rows: int) -> Iterator[tuple[Person, str | None, str, str]]:
        """Yield who is asked about which item, on which criterion, in which visit, with so many rows a question."""
        questions = sum(len(one.visits) * one.share for one in self.people) * len(self.criteria) * len(self.items)
        some = min(1.0, MOST_ROWS / (questions * rows))
        for person in self.people:
            for visit in person.visits:
                for criterion in self.criteria:
                    part = max(1, len(self.items) // 2) if criterion == self.half else len(self.items)
                    for item in self.items[:part]:
                        if self.rng.random() < person.share * some:
                            yield person, visit, criterion, item

    def pairs(self, *, both: bool = False) -> list[tuple[str, str]]:
        """Return pairs of systems, perhaps not all of them."""
        share = float(self.rng.choice([1, 1, 0.7])) if len(self.systems) > 2 else 1.0
        found = [(x, y) for at, x in enumerate(self.systems) for y in self.systems[at + 1 :]]
        found = [one for one in found if self.rng.random() < share] or found[:1]
        found = [pair if self.rng.random() < 0.5 else pair[::-1] for pair in found]
        return [*found, *((y, x) for x, y in found)] if both else found


def ratings(draw: Draw) -> Tables:
    """Rate outputs: scales differ by criterion, outputs come in samples, people repeat themselves."""
    rng, rows = draw.rng, Rows()
    samples, repeats = int(rng.choice([1, 1, 1, 2])), int(rng.choice([1, 1, 1, 2]))
    people, items = [one.name for one in draw.people], draw.items
    for person, visit, criterion, item in draw.asked(len(draw.systems) * samples * repeats):
        low, high, step = SCALES[draw.scale[criterion]]
        for place, system in enumerate(draw.systems):
            turn = {"items": items.index(item), "people": people.index(person.name)}.get(draw.own, place)
            if turn % len(draw.systems) != place or (system == draw.scarce and rng.random() < 0.7):
                continue
            for sample in range(samples):
                for repeat in range(repeats):
                    good = draw.feels(person, system, criterion) * (-1 if criterion in draw.lower else 1)
                    felt = (low + high) / 2 + (high - low) / 5 * (good + person.severity)
                    score = None if rng.random() < draw.missing else _stepped(felt, low, high, step)
                    row = draw.about(person, visit, criterion) | {"item_id": item, "system": system, "score": score}
                    rows.append(row | {"sample": f"{sample}", "repeat": f"{repeat}"})
    return {"ratings": _frame(rows, keep={"sample": samples > 1, "repeat": repeats > 1})}


def _stepped(felt: float, low: float, high: float, step: float) -> float:
    return round(float(np.clip(low + step * round((felt - low) / step), low, high)), 6)


def listening(draw: Draw) -> Tables:
    """Rate outputs between a hidden reference and an anchor, which nobody ranks; some listeners do not hear them."""
    rated, rng = ratings(draw)["ratings"], draw.rng
    if not rated.height:
        return {"ratings": rated}
    scores = {one: SCALES[scale][:2] for one, scale in draw.scale.items()}
    trials = rated.unique([name for name in rated.columns if name not in ("system", "score")], maintain_order=True)
    rows = []
    for row in trials.to_dicts():
        low, high = scores[row["criterion"]][:: -1 if row["criterion"] in draw.lower else 1]
        for system, felt in (("reference", high), ("anchor", low)):
            rows.append(row | {"system": system, "score": felt if rng.random() < 0.9 else (low + high) / 2})
    return {"ratings": pl.concat([rated, pl.DataFrame(rows, rated.schema)])}


def metrics(draw: Draw) -> Tables:
    """Measure outputs automatically, some of them not, with measures that may know nothing."""
    known = float(draw.rng.choice([0, 1]))
    rows = [
        {
            "item_id": item,
            "system": system,
            "metric": metric,
            "score": round(known * worth + draw.rng.normal(2, 0.5), 3),
        }
        for item in draw.items
        for system, worth in draw.utility[draw.criteria[0]].items()
        for metric in ("bleu", "length")
        if draw.rng.random() < 0.95
    ]
    return {"metrics": pl.DataFrame(rows)}


def choices(draw: Draw) -> Tables:
    """Choose one of two outputs, with ties."""
    rng, rows = draw.rng, Rows()
    ties, pairs = float(rng.choice([0, 0.3])), draw.pairs(both=bool(draw.rng.random() < 0.2))
    share = float(rng.choice([1, 0.4]))
    for person, visit, criterion, item in draw.asked(len(pairs)):
        for pair in pairs:
            if (draw.scarce in pair and rng.random() < 0.7) or rng.random() > share:
                continue
            felt = draw.feels(person, pair[0], criterion) - draw.feels(person, pair[1], criterion)
            winner = None if rng.random() < draw.missing else "tie" if abs(felt) < ties else "xy"[int(felt < 0)]
            row = draw.about(person, visit, criterion) | {"item_id": item, "system_x": pair[0], "system_y": pair[1]}
            rows.append(row | {"winner": winner})
    return {"choices": _frame(rows)}


def preferences(draw: Draw) -> Tables:
    """State chances of unseen outputs, in both directions or in one; some contradict themselves."""
    rng, rows = draw.rng, Rows()
    directions, exposures = bool(rng.random() < 0.6), [None] if rng.random() < 0.6 else ["1", "5"]
    pairs, noise = draw.pairs(), float(rng.choice([0.01, 0.1]))
    for person in draw.people:
        for visit in person.visits:
            for criterion in draw.criteria:
                for exposure in exposures:
                    for x, y in pairs:
                        if (draw.scarce in (x, y) and rng.random() < 0.7) or rng.random() > max(person.share, 0.5):
                            continue
                        felt = draw.feels(person, x, criterion) - draw.feels(person, y, criterion)
                        chance = 1 / (1 + np.exp(-felt))
                        for first, second, true in ((x, y, chance), (y, x, 1 - chance))[: 1 + directions]:
                            said = round(float(np.clip(true + rng.normal(0, noise), 0, 1)), 2)
                            row = draw.about(person, visit, criterion) | {"system_x": first, "system_y": second}
                            given = None if rng.random() < draw.missing else said
                            rows.append(row | {"exposure": exposure, "preference": given})
    return {"preferences": _frame(rows, keep={"exposure": len(exposures) > 1})}


def soft_choices(draw: Draw) -> Tables:
    """State chances about single outputs."""
    rng, rows, pairs = draw.rng, Rows(), draw.pairs()
    for person, visit, criterion, item in draw.asked(len(pairs)):
        for x, y in pairs:
            felt = draw.feels(person, x, criterion) - draw.feels(person, y, criterion)
            said = None if rng.random() < draw.missing else round(float(1 / (1 + np.exp(-felt))), 2)
            row = draw.about(person, visit, criterion) | {"item_id": item, "system_x": x, "system_y": y}
            rows.append(row | {"preference": said})
    return {"preferences": _frame(rows)}


def orders(draw: Draw) -> Tables:
    """Put outputs of an item in order, with ties."""
    rng, rows = draw.rng, Rows()
    shown = int(rng.integers(2, len(draw.systems) + 1))
    for person, visit, criterion, item in draw.asked(shown):
        some = [str(one) for one in rng.choice(draw.systems, shown, replace=False)]
        felt = [round(draw.feels(person, one, criterion), 0 if rng.random() < 0.2 else 4) for one in some]
        for system, own in zip(some, felt, strict=True):
            row = draw.about(person, visit, criterion) | {"item_id": item, "system": system}
            rows.append(row | {"rank": 1 + sum(other > own for other in felt)})
    return {"orders": _frame(rows)}


def _frame(rows: Rows, *, keep: Mapping[str, bool] | None = None) -> pl.DataFrame:
    kept = {"group": any(row["group"] for row in rows), "variant": any(row["variant"] for row in rows)}
    kept |= {"assignment_id": any(row["assignment_id"] for row in rows), **(keep or {})}
    names = [name for name in rows[0] if kept.get(name, True)] if rows else []
    return pl.DataFrame(rows, {name: SCHEMA.get(name, pl.String) for name in names}, strict=False)


ASKED: Mapping[str, tuple[Callable[[Draw], Tables], ...]] = {
    "ratings": (ratings,),
    "choices": (choices,),
    "preferences": (preferences,),
    "soft_choices": (soft_choices,),
    "orders": (orders,),
    "together": (preferences, choices, ratings),
    "two_kinds": (choices, ratings),
    "listening": (listening,),
    "measured": (ratings, metrics),
}
ROLES: Mapping[str, UnrankedSystem | None] = {
    "reference": UnrankedSystem(system="reference", role="hidden_reference"),
    "anchor": UnrankedSystem(system="anchor", role="anchor"),
}


def random_study(asked: str, seed: int, *, null: bool = False, people: int | None = None) -> RandomStudy:
    """Return a study whose answers stand in any order; of ``people`` so many, else 2 to 40."""
    rng = np.random.default_rng([seed, [*ASKED].index(asked), 71])
    draw = Draw(rng, null=null, people=people)
    tables = {kind: table for make in ASKED[asked] for kind, table in make(draw).items() if table.height}
    plan = Plan(
        lower_is_better=draw.lower if "ratings" in tables else frozenset(),
        unit=str(rng.choice(["auto"] * 4 + ["annotator", "item"])),  # type: ignore[arg-type]
        family=str(rng.choice(["criterion", "criterion", "all"])),  # type: ignore[arg-type]
        correction=str(rng.choice(["holm", "holm", "bh"])),  # type: ignore[arg-type]
        rating_test="welch" if rng.random() < 0.1 else "auto",
        consistency_tau=None if rng.random() < 0.2 else Decimal("1.1"),
        fwer=float(rng.choice([0.05, 0.05, 0.01])),
        confidence=float(rng.choice([0.95, 0.95, 0.9])),
        regularisation=0.5 if rng.random() < 0.1 else None,
    )
    shuffled = {kind: table.sample(fraction=1, shuffle=True, seed=seed) for kind, table in tables.items()}
    reading = Reading(system_roles=ROLES if asked == "listening" else {})
    return RandomStudy(tables=shuffled, plan=plan, reading=reading, utility=draw.utility)
