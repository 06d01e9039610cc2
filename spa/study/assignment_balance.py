"""How evenly forms from a file use systems, columns and orders, and whether a label gives a system away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

from spa.records.assignment import Assignment, BlindingKey, label_name
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.assigned_pages import AssignedPages, load_pages

GIVEN_AWAY = 3  # standard errors above an even share at which the column of a system says whose it is
LEAST_FORMS = 3  # of fewer nobody can tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """What is not even, and what that means or what to do."""

    uneven: str
    do: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What is used how often.

    ``outputs``: outputs of each system shown. ``columns``: forms in which a system has a column, from 0, where forms
    have columns; ``placed``: the same of the forms of which the file says it, ``placed_forms``. ``asked``: by way of
    asking, how often each system is judged, where a form may judge some only. ``first``: by way of asking and pair, how
    often the first listed and the other come first. ``items``: forms that show an item.
    """

    forms: int
    systems: tuple[str, ...]
    outputs: Counter[str] = field(default_factory=Counter)
    columns: Counter[tuple[str, int]] = field(default_factory=Counter)
    placed: Counter[tuple[str, int]] = field(default_factory=Counter)
    placed_forms: int = 0
    asked: dict[str, Counter[str]] = field(default_factory=dict)
    first: dict[str, dict[tuple[str, str], Counter[bool]]] = field(default_factory=dict)
    items: Counter[str] = field(default_factory=Counter)

    def facts(self) -> str:
        """Return the counts in words."""
        said = [
            f"{self.forms} forms",
            f"each item on {_span(self.items.values())}",
            f"each system shown {_span(self.outputs[system] for system in self.systems)} times",
        ]
        if self.columns:
            said.append(f"in each column on {_span(self._columns().values())}")
        for way, counted in self.asked.items():
            said.append(f"judged in [{way}] {_span(counted[system] for system in self.systems)} times")
        for way, pairs in self.first.items():
            times, turns = (
                [one.total() for one in pairs.values()],
                [one[side] for one in pairs.values() for side in (True, False)],
            )
            said.append(f"pairs of [{way}] asked {_span(times)} times, each side first {_span(turns)} times")
        return "; ".join(said)

    def as_json(self) -> dict[str, object]:
        """Return the counts as JSON."""
        return {
            "forms": self.forms,
            "items": dict(self.items),
            "outputs": {system: self.outputs[system] for system in self.systems},
            "columns": {
                system: [self.columns[system, column] for column in range(len(self.systems))] for system in self.systems
            }
            if self.columns
            else {},
            "judged": {
                way: {system: counted[system] for system in self.systems} for way, counted in self.asked.items()
            },
            "pairs": {
                way: [[*pair, counted[True], counted[False]] for pair, counted in pairs.items()]
                for way, pairs in self.first.items()
            },
        }

    def caveats(self) -> Iterator[Caveat]:
        """Yield what gives a system away, and what is not balanced."""
        told = sorted(self._given_away(), key=lambda one: -one[2])
        if told:
            listed = ", ".join(f"{system} {label_name(column)} on {forms}" for system, column, forms in told[:3])
            even = f"{self.placed_forms / len(self.systems):.3g}"
            yield Caveat(
                uneven=f"labels give systems away, {listed}{', ...' * (len(told) > 3)} of {self.placed_forms} forms "
                f"(even: {even})",
                do="who sees two forms, or hears of one, knows them; without column position the study draws columns",
            )
        uneven = self._columns().values()
        if self.placed_forms >= LEAST_FORMS and not told and max(uneven) - min(uneven) > 1:
            yield Caveat(uneven=f"systems are in each column on {_span(uneven)} forms", do="place may decide")
        shown = [self.outputs[system] for system in self.systems]
        if max(shown) > min(shown):
            found = f"{_most_and_least(self.outputs, self.systems)} shown"
            yield Caveat(uneven=found, do="means of one are less certain")
        for way, counted in self.asked.items():
            if len({counted[system] for system in self.systems}) > 1:
                found = f"in [{way}] {_most_and_least(counted, self.systems)} judged"
                yield Caveat(uneven=found, do="results lean on some")
        for way, pairs in self.first.items():
            yield from _pairs_uneven(way, pairs)

    def _columns(self) -> Mapping[tuple[str, int], int]:
        return {
            (system, column): self.columns[system, column]
            for system in self.systems
            for column in range(len(self.systems))
        }

    def _given_away(self) -> Iterator[tuple[str, int, int]]:
        even = self.placed_forms / len(self.systems)
        bound = even + GIVEN_AWAY * sqrt(even * (1 - 1 / len(self.systems)))
        for (system, column), forms in self.placed.items():
            if self.placed_forms >= LEAST_FORMS and (forms == self.placed_forms or forms > bound):
                yield system, column, forms


def balance_of(study: Study, draws: Iterable[tuple[Assignment, BlindingKey]], placed: Sequence[bool] = ()) -> Balance:
    """Count what assignments use; ``placed`` says of each whether a file gives its columns."""
    drawn = list(draws)
    systems = study.systems_shown
    made = Balance(forms=len(drawn), systems=systems, placed_forms=sum(placed[: len(drawn)]))
    alone = study.single_outputs or study.deals_pairs
    listed = {system: place for place, system in enumerate(systems)}
    for assignment, key in drawn:
        shown = [output for block in assignment.blocks for output in block.shown]
        made.outputs.update(key.systems[output.label] for output in shown)
        made.items.update({output.item_id for output in shown})
        if not alone:
            columns = [
                (key.systems[label], place) for block in assignment.blocks for place, label in enumerate(block.labels)
            ]
            made.columns.update(columns)
            if any(placed[assignment.number : assignment.number + 1]):
                made.placed.update(columns)
        orders = {
            way: [[key.systems[one.label] for one in group] for group in groups]
            for way, groups in assignment.groups.items()
        }
        for comparison in assignment.comparisons:
            way = next(way for way, section in study.sections.items() if section.exposures())
            orders.setdefault(way, []).append([key.systems[label] for label in comparison.directions[0]])
        for way, asked in orders.items():
            for order in asked:
                if len(order) == 2 and study.pairs_of(way):
                    pair = tuple(sorted(order, key=listed.__getitem__))
                    sides = made.first.setdefault(way, {}).setdefault((pair[0], pair[1]), Counter())
                    sides[order[0] == pair[0]] += 1
                else:
                    made.asked.setdefault(way, Counter()).update(order)
        for way, section in study.sections.items():
            rated = [key.systems[one.output.label] for one in assignment.rated if one.elicitation == section.way]
            if rated:
                made.asked.setdefault(way, Counter()).update(rated)
    for way, pairs in made.first.items():  # also those never asked
        for x, y in study.pairs_of(way):
            one, other = sorted((x, y), key=listed.__getitem__)
            pairs.setdefault((one, other), Counter())
    return made


def _pairs_uneven(way: str, pairs: Mapping[tuple[str, str], Counter[bool]]) -> Iterator[Caveat]:
    times = {pair: counted.total() for pair, counted in pairs.items()}
    most, least = max(times, key=times.__getitem__), min(times, key=times.__getitem__)
    if times[most] > times[least]:
        found = f"[{way}] asks {' and '.join(most)} {times[most]} times, {' and '.join(least)} {times[least]}"
        yield Caveat(uneven=found, do="tests of the latter are weaker")
    turned = {pair: counted[True] - counted[False] for pair, counted in pairs.items()}
    odd = max(turned, key=lambda pair: abs(turned[pair]))
    if abs(turned[odd]) > 1:
        first, second = odd if turned[odd] > 0 else odd[::-1]
        counted = pairs[odd]
        yield Caveat(
            uneven=f"[{way}] has {first} before {second} in {max(counted.values())} of {counted.total()}",
            do="which comes first may decide; counterbalance them, or leave out these rows to have orders drawn",
        )


def _most_and_least(counted: Counter[str], systems: tuple[str, ...]) -> str:
    most, least = max(systems, key=counted.__getitem__), min(systems, key=counted.__getitem__)
    return f"outputs of {most} are {counted[most]} times, of {least} {counted[least]} times"


def _span(counts: Iterable[int]) -> str:
    found = list(counts)
    fewest, most = min(found, default=0), max(found, default=0)
    return str(most) if fewest == most else f"{fewest} to {most}"


def balance_of_file(
    study: Study, outputs: Outputs, draws: Iterable[tuple[Assignment, BlindingKey]]
) -> tuple[AssignedPages, Balance]:
    """Return the forms of a study's file, and how balanced the assignments drawn of them are."""
    pages = load_pages(study, outputs)
    return pages, balance_of(study, draws, [form.columns is not None for form in pages.forms])
