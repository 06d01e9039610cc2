"""No figure depends on which direction of a pair is listed first, on names, or on the order of rows."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis import AnswerTables, Plan, Reading, check_frames
from analysis.comparisons.directions import DirectionSummary
from analysis.descriptives.explanations import ExplanationRow
from analysis.parts.preferences import read_preferences
from analysis.printing.turning import turned
from analysis.records.results import Results
from analysis.results.analyse import analyse
from analysis.results.analyse_preferences import analyse_preferences_in_parts
from analysis.results.analyse_sums import analyse_totals
from analysis.statistics.record import SCALARS, Record, plain, with_fields
from analysis.sums.totals import LargeKind
from tests.analysis.totals_in_memory import totals_of

Tables = dict[str, pl.DataFrame]
SYSTEMS = ("sysA", "sysB", "sysC", "sysD")
PAIRS = (("sysA", "sysB"), ("sysC", "sysA"), ("sysB", "sysC"), ("sysA", "sysD"), ("sysD", "sysB"), ("sysC", "sysD"))
SKILL = dict(zip(SYSTEMS, (0.9, 0.2, -0.3, -0.6), strict=True))
LLMS = ("gptA", "gptB")
ASKED = ("system_x", "system_y")


def people(n: int) -> list[str]:
    return [f"per{chr(65 + number // 26)}{chr(65 + number % 26)}" for number in range(n)]


def preferences(seed: int, *, n_people: int = 11) -> pl.DataFrame:
    """State both directions of four pairs at two exposures; some people leave some out, LLMs answer twice."""
    rng = np.random.default_rng([3, seed])
    rows = []
    for who in (*people(n_people), *LLMS):
        taste, letters = rng.normal(0, 0.5), dict(zip(SYSTEMS, rng.permutation(list("ABCD")).tolist(), strict=True))
        for visit in ("v1", "v2") if who in LLMS else ("v1",):
            for exposure in ("1", "4"):
                for x, y in PAIRS[:5]:
                    if rng.random() < 0.15:
                        continue
                    wanted = 1 / (1 + math.exp(-(SKILL[x] - SKILL[y] + taste + rng.normal(0, 0.8))))
                    for first, share in ((True, wanted), (False, 1 - wanted)):
                        given = min(99, max(1, round(100 * (share + rng.normal(0, 0.02)))))
                        rows.append(
                            {
                                "annotator_id": who,
                                "annotator_kind": "llm" if who in LLMS else "human",
                                "assignment_id": f"{visit}{who}",
                                "system_x": x if first else y,
                                "system_y": y if first else x,
                                "preference": f"{given / 100:g}",
                                "criterion": "overall",
                                "exposure": exposure,
                                "asked_first": "1" if first else "0",
                                "label_x": letters[x if first else y],
                                "label_y": letters[y if first else x],
                            }
                        )
    return pl.DataFrame(rows)


def choices(seed: int, *, n_people: int = 5, n_items: int = 7, ties: bool = True) -> pl.DataFrame:
    """Let people choose unevenly often, LLMs twice, by two criteria."""
    rng = np.random.default_rng([5, seed])
    rows = []
    for number, who in enumerate((*people(n_people), *LLMS)):
        for criterion in ("overall", "short"):
            for item in range(n_items):
                for pair in PAIRS:
                    x, y = rng.permutation(pair).tolist()
                    if rng.random() < min(0.5, 0.1 + 0.08 * number):
                        continue
                    felt = SKILL[x] - SKILL[y] + rng.normal(0, 0.8)
                    rows.append(
                        {
                            "annotator_id": who,
                            "annotator_kind": "llm" if who in LLMS else "human",
                            "item_id": f"item{item:02}",
                            "system_x": x,
                            "system_y": y,
                            "criterion": criterion,
                            "label_x": "AB"[int(rng.random() < 0.5)],
                            "label_y": "AB"[int(rng.random() < 0.5)],
                            "winner": "tie" if ties and abs(felt) < 0.2 else "x" if felt > 0 else "y",
                        }
                    )
    return pl.DataFrame(rows)


def ratings(seed: int, *, n_people: int = 4, n_items: int = 9, missing: float = 0.15) -> pl.DataFrame:
    """Rate by two criteria, with missing cells and uneven annotators."""
    rng = np.random.default_rng([7, seed])
    rows = []
    for number, who in enumerate((*people(n_people), *LLMS)):
        for criterion in ("clear", "exact"):
            for item in range(n_items):
                for system in SYSTEMS:
                    if rng.random() < missing * (1 + number / 3):
                        continue
                    score = round(3 + SKILL[system] + math.sin(item) + rng.normal(0, 0.7))
                    rows.append(
                        {
                            "annotator_id": who,
                            "annotator_kind": "llm" if who in LLMS else "human",
                            "item_id": f"item{item:02}",
                            "system": system,
                            "criterion": criterion,
                            "score": str(min(5, max(1, score))),
                            "position": str(rng.integers(1, 5)),
                            "label": "ABCD"[rng.integers(4)],
                        }
                    )
    return pl.DataFrame(rows)


def metrics(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng([8, seed])
    return pl.DataFrame(
        [
            {"item_id": f"item{item:02}", "system": system, "metric": metric, "score": f"{score:.3f}"}
            for item in range(9)
            for system in SYSTEMS
            for metric in ("bleu", "length")
            for score in [SKILL[system] + rng.normal(2, 0.5)]
        ]
    )


def orders(seed: int, *, n_people: int = 11) -> pl.DataFrame:
    """Rank three of four outputs, a tie now and then; of one item each person ranks all."""
    rng = np.random.default_rng([9, seed])
    rows = []
    for who in (*people(n_people), "gptA"):
        for item in range(4):
            shown = [str(one) for one in rng.permutation(SYSTEMS)[: 4 if item == 0 else 3]]
            felt = [SKILL[one] + rng.gumbel() * 0.7 for one in shown]
            rank = [1 + sum(other > one for other in felt) for one in felt]
            if rng.random() < 0.2:
                rank = [min(one, 2) for one in rank]
            for position, (system, place) in enumerate(zip(shown, rank, strict=True)):
                rows.append(
                    {
                        "annotator_id": who,
                        "annotator_kind": "llm" if who in LLMS else "human",
                        "item_id": f"item{item:02}",
                        "system": system,
                        "rank": str(place),
                        "position": str(position + 1),
                    }
                )
    return pl.DataFrame(rows)


def spans(seed: int, *, n_items: int = 6) -> pl.DataFrame:
    """Mark errors, more of them in worse outputs."""
    rng = np.random.default_rng([11, seed])
    rows = []
    for who in (*people(4), "gptA"):
        for item in range(n_items):
            for system in SYSTEMS:
                true = np.random.default_rng([seed, item, SYSTEMS.index(system)]).integers(0, 80, 3)
                found = [int(place) for place in true[: 1 + SYSTEMS.index(system) // 2] if rng.random() < 0.7]
                base = {
                    "annotator_id": who,
                    "annotator_kind": "llm" if who in LLMS else "human",
                    "item_id": f"item{item:02}",
                    "system": system,
                    "characters": "100",
                }
                for place in sorted(set(found)):
                    end = place + int(rng.integers(3, 9))
                    severity = str(rng.choice(["minor", "major"]))
                    rows.append({**base, "start": str(place), "end": str(end), "severity": severity, "reason": None})
                if not found:
                    rows.append({**base, "start": None, "end": None, "severity": None, "reason": "no errors"})
    return pl.DataFrame(rows, infer_schema_length=None)


STUDIES: dict[str, Callable[[int], Tables]] = {
    "preferences": lambda seed: {"preferences": preferences(seed)},
    "choices": lambda seed: {"choices": choices(seed), "metrics": metrics(seed)},
    "many_choices": lambda seed: {"choices": choices(seed, n_people=12, n_items=9, ties=False)},
    "ratings": lambda seed: {"ratings": ratings(seed), "metrics": metrics(seed)},
    "complete_ratings": lambda seed: {"ratings": ratings(seed, n_people=11, n_items=15, missing=0.0)},
    "orders": lambda seed: {"orders": orders(seed)},
    "spans": lambda seed: {"spans": spans(seed)},
    "many_spans": lambda seed: {"spans": spans(seed, n_items=55)},
    "together": lambda seed: {"preferences": preferences(seed), "choices": choices(seed), "ratings": ratings(seed)},
    "many_people": lambda seed: {
        "preferences": preferences(seed, n_people=34),
        "choices": choices(seed, n_people=34, n_items=4),
    },
}


# What is done to a study, and the names that it gives


def as_it_is(tables: Tables) -> tuple[Tables, dict[str, str]]:
    return tables, {}


def shuffled(tables: Tables) -> tuple[Tables, dict[str, str]]:
    return {kind: table.sample(fraction=1.0, shuffle=True, seed=2) for kind, table in tables.items()}, {}


def _turned(table: pl.DataFrame, rows: pl.Expr) -> pl.DataFrame:
    if "winner" not in table.columns:
        return table
    winner = pl.col("winner").replace({"x": "y", "y": "x"})
    x, y = pl.col("system_x"), pl.col("system_y")
    return table.with_columns(
        system_x=pl.when(rows).then(y).otherwise(x),
        system_y=pl.when(rows).then(x).otherwise(y),
        winner=pl.when(rows).then(winner).otherwise("winner"),
        label_x=pl.when(rows).then("label_y").otherwise("label_x"),
        label_y=pl.when(rows).then("label_x").otherwise("label_y"),
    )


def pair_listed_the_other_way(tables: Tables) -> tuple[Tables, dict[str, str]]:
    """Turn all answers about two pairs; of preferences, which are asked both ways, list the other way first."""
    found = {}
    for kind, table in tables.items():
        if not {*ASKED} <= set(table.columns):
            found[kind] = table
            continue
        about = (pl.col("system_x") + pl.col("system_y")).is_in(["sysCsysA", "sysAsysC", "sysDsysB", "sysBsysD"])
        found[kind] = _turned(table, about).sort(pl.when(about).then(1 - pl.int_range(pl.len())).otherwise(0))
    return found, {}


def some_answers_turned(tables: Tables) -> tuple[Tables, dict[str, str]]:
    """Turn every third choice alone: which way a pair was listed is then a matter of its first row."""
    return {kind: _turned(table, pl.int_range(pl.len()) % 3 == 0) for kind, table in tables.items()}, {}


def _renamed(tables: Tables, names: Mapping[str, str], columns: tuple[str, ...]) -> Tables:
    return {
        kind: table.with_columns(pl.col(name).replace(names) for name in columns if name in table.columns)
        for kind, table in tables.items()
    }


def _backwards(column: tuple[str, ...], prefixes: str, new: str) -> Callable[[Tables], tuple[Tables, dict[str, str]]]:
    def change(tables: Tables) -> tuple[Tables, dict[str, str]]:
        found = {one for table in tables.values() for name in column if name in table.columns for one in table[name]}
        ids = sorted(one for one in found if re.match(prefixes, one))
        names = {name: f"{new}{number:03d}" for number, name in enumerate(reversed(ids))}
        return _renamed(tables, names, column), {after: before for before, after in names.items()}

    return change


CHANGES = {
    "shuffled": shuffled,
    "pair_listed_the_other_way": pair_listed_the_other_way,
    "some_answers_turned": some_answers_turned,
    "systems_renamed": _backwards((*ASKED, "system"), "sys", "Model"),
    "items_renamed": _backwards(("item_id",), "item", "Text"),
    "annotators_renamed": _backwards(("annotator_id",), "per|gpt", "Who"),
}
AS_ASKED = (DirectionSummary, ExplanationRow)  # two directions are two rows
OF_ONE = ("value", "order", "evidence", "p_adjusted", "clear")
# Drawn from a seed that names the group, which is the id of an LLM: equal within the error of 1,000 draws of a measure
# that has few values. All else that is drawn is the same whatever names and order are.
DRAWN_BY_GROUP = {".ranking_agreement.ci_low", ".ranking_agreement.ci_high"}
NEAR = 0.25
TURNING = ("pair_listed_the_other_way", "some_answers_turned")
TEXTS = re.compile(r"(^|_)(reason|text|winner|certainty|stand_in|warnings|more|excluded|evidence|interval)$")


def canonical(value: Any, names: Mapping[str, str]) -> Any:
    """Return records as plain data with every pair in the direction of its former names."""
    if isinstance(value, Results | Record):
        value = with_fields(value, lambda item: canonical(item, names), SCALARS)
        x, y = (getattr(value, name, None) for name in ASKED)
        listed = x and y and not isinstance(value, AS_ASKED)
        return turned(value) if listed and names.get(x, x) > names.get(y, y) else value
    if isinstance(value, tuple):
        return tuple(canonical(item, names) for item in value)
    return value


def figures(results: Results, names: Mapping[str, str]) -> Any:
    content = plain(canonical(results, names))
    pattern = re.compile("|".join(map(re.escape, names))) if names else None

    def former(text: str) -> str:
        return pattern.sub(lambda found: names[found[0]], text) if pattern else text

    def walk(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            value = _sorted_systems(value, former) if isinstance(value.get("systems"), list) else value
            value = {former(name): walk(item, name) for name, item in value.items() if not _is_text(name, item, value)}
            return _second_named_second(value)
        if isinstance(value, list):
            found = [walk(item, key) for item in value]
            sortable = len(found) > 1 and all(isinstance(item, dict) for item in found)
            return sorted(found, key=_place) if sortable or _tied(key, found) else found
        return former(value) if isinstance(value, str) else value

    content.pop("settings")
    return walk(content)


def _sorted_systems(row: dict[str, Any], former: Callable[[str], str]) -> dict[str, Any]:
    """Put what stands in the order of a row's systems into the order of their former names."""
    systems = row["systems"]
    order = sorted(range(len(systems)), key=lambda place: former(systems[place]))

    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: put(one) for key, one in value.items()}
        if isinstance(value, list) and len(value) == len(order) and not any(isinstance(one, dict) for one in value):
            return [value[place] for place in order]
        return [put(one) for one in value] if isinstance(value, list) else value

    found: dict[str, Any] = put(row)
    return found


def _second_named_second(row: dict[str, Any]) -> dict[str, Any]:
    """Name two groups, measures or raters in the order of their names; what is of one goes with it."""
    for one, other in (("a", "b"), ("annotator_x", "annotator_y")):
        if not isinstance(row.get(one), str) or row[one] <= row[other]:
            continue
        back = {one: other, other: one, **{f"{key}_a": f"{key}_b" for key in OF_ONE}}
        back |= {after: before for before, after in back.items()}
        row = {key: row[back.get(key, key)] if back.get(key, key) in row else item for key, item in row.items()}
        if row.get("t") is not None:
            row |= {"t": -row["t"], "p_one_sided": 1 - row["p_one_sided"]}
        if row.get("verdict") in ("a", "b"):
            row["verdict"] = back[row["verdict"]]
        if "turned" in row:
            row["turned"] = sorted(back[side] for side in row["turned"])
    return row


def _tied(key: str, found: list[Any]) -> bool:
    return key == "parts" or (
        key in ("order", "unbeaten", "passed_over", "above", "below") and all(isinstance(item, str) for item in found)
    )


def _is_text(name: str, item: Any, row: dict[str, Any]) -> bool:
    if name == "winner" and "leader" in row:
        return False
    return bool(TEXTS.search(name)) and (isinstance(item, str) or item is None or name in ("warnings",))


def _place(item: Any) -> tuple[str, str]:
    def masked(value: Any, digits: str) -> Any:
        if isinstance(value, float):
            return format(value, digits) if digits else ""
        if isinstance(value, dict):
            return {key: masked(one, digits) for key, one in sorted(value.items())}
        return [masked(one, digits) for one in value] if isinstance(value, list) else value

    return json.dumps(masked(item, "")), json.dumps(masked(item, ".5g"))


def differing(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield where two results differ: the path of its keys, and both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            yield from differing(before.get(key), after.get(key), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from differing(one, other, path)
    elif isinstance(before, float | int) and isinstance(after, float | int):
        if not math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-9):
            yield path, before, after
    elif before != after:
        yield path, before, after


@cache
def tables_of(study: str, seed: int = 0) -> Tables:
    return STUDIES[study](seed)


def analysed(tables: Tables) -> Results:
    return analyse(check_frames(tables, Reading()), Plan())


@cache
def once(study: str, seed: int = 0, analysis: Callable[[Tables], Results] = analysed) -> Any:
    return figures(analysis(tables_of(study, seed)), {})


def from_sums(tables: Tables) -> Results:
    """Analyse the one table of answers as if it were read in parts."""
    kind: LargeKind = "ratings" if "ratings" in tables else "choices"
    return analyse_totals(totals_of(check_frames({kind: tables[kind]}, Reading()), kind), Plan())


def changed(
    study: str, change: str, seed: int = 0, analysis: Callable[[Tables], Results] = analysed
) -> list[tuple[str, Any, Any]]:
    """Return what differs once a study is changed; who stood first is a fact that turned answers do change."""
    given = tables_of(study, seed)
    tables, names = CHANGES[change](given)
    before = once(study, seed, analysis)
    if all(tables[kind].equals(table) for kind, table in given.items()):  # such as ratings, which have no pairs
        return []
    after = figures(analysis(tables), names)
    if change in TURNING:
        before, after = (without_position(found) for found in (before, after))
    return [row for row in differing(before, after) if change != "annotators_renamed" or not _drawn_alike(*row)]


def _drawn_alike(path: str, before: Any, after: Any) -> bool:
    known = isinstance(before, float) and isinstance(after, float)
    return path in DRAWN_BY_GROUP and known and abs(before - after) <= NEAR


def without_position(found: Any) -> Any:
    bias = [row for row in found["llm_vs_people"]["bias"] if row["kind"] != "position" or row["source"] == "ratings"]
    return {**found, "first_shown": [], "llm_vs_people": {**found["llm_vs_people"], "bias": bias}}


def each(studies: Iterable[str]) -> Any:
    """Return a study at a time, which is analysed once as it is: all its tests run in one process."""
    groups = {study: pytest.mark.one_process(f"metamorphic {study}") for study in studies}
    return pytest.mark.parametrize("study", [pytest.param(study, marks=mark) for study, mark in groups.items()])


@pytest.mark.parametrize("change", CHANGES)
@each(STUDIES)
def test_figures_do_not_depend_on_listing_names_or_rows(study: str, change: str) -> None:
    assert changed(study, change) == []


@pytest.mark.parametrize("change", CHANGES)
@each(["choices", "many_choices", "ratings", "complete_ratings"])
def test_figures_from_sums_do_not_either(study: str, change: str) -> None:
    assert changed(study, change, analysis=from_sums) == []


def in_parts(tables: Tables) -> Results:
    """Analyse the preferences of a folder of files."""
    with tempfile.TemporaryDirectory() as folder:
        for number, part in enumerate(tables["preferences"].iter_slices(150)):
            part.write_csv(f"{folder}/part-{number}.csv")
        found = read_preferences(folder, Reading(), Plan(), beside=AnswerTables())
        return analyse_preferences_in_parts(found, Plan())


@pytest.mark.one_process("metamorphic in parts")
@pytest.mark.parametrize("change", CHANGES)
def test_nor_do_those_of_preferences_in_parts(change: str) -> None:
    assert changed("preferences", change, analysis=in_parts) == []
