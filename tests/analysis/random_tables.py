"""Random tables of answers in many designs, each with a plan; the same for a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from analysis import Plan

Made = tuple[pl.DataFrame, Plan]


def ratings(rng: np.random.Generator) -> Made:
    """Rate systems: several groups, LLMs, visits, samples, repeats, scales, gaps, lopsided and unpaired designs."""
    people, llms, visits = int(rng.choice([2, 3, 4, 8, 12, 15])), int(rng.choice([0, 0, 1, 2])), int(rng.choice([1, 3]))
    items, k, share = int(rng.choice([3, 8, 12, 40])), int(rng.choice([2, 3, 4])), rng.choice([1, 0.8, 0.3])
    criteria = [["overall"], ["fluency", "errors"]][rng.integers(2)]
    scale, own = rng.choice(["steps", "steps", "slider", "thirds"]), rng.choice(["", "", "", "items", "people"])
    samples, repeats = int(rng.choice([1, 1, 1, 2])), int(rng.choice([1, 1, 1, 2]))
    lopsided, groups, variants = rng.random() < 0.3, rng.random() < 0.2, rng.random() < 0.3
    who = [(f"w{n:02}", "human", "A" if groups and n % 2 else None, None, None) for n in range(people)]
    for model in range(llms):
        who += [(f"gpt{model}", "llm", None, f"v{n}", f"{n % 2}" if variants else None) for n in range(visits)]
    rows: list[tuple[Any, ...]] = []
    for place, (annotator, kind, group, visit, variant) in enumerate(who):
        lean = rng.normal(0, 0.3)
        for item, system in np.ndindex(max(1, items // 4) if lopsided and place else items, k):
            if system != {"items": item, "people": place}.get(own, system) % k or rng.random() > share:
                continue
            for sample in range(samples):
                for criterion in criteria:
                    for repeat in range(repeats if rng.random() < 0.3 else 1):
                        score = _score(rng, str(scale), 3 + lean + 0.3 * system)
                        about = (annotator, kind, group, visit, variant, f"i{item}", f"s{system}", criterion)
                        rows.append((*about, f"{sample}", f"{repeat}", score))
    names = ["annotator_id", "annotator_kind", "group", "assignment_id", "variant", "item_id", "system", "criterion"]
    table = pl.DataFrame(rows, [*names, "sample", "repeat", "score"], orient="row", infer_schema_length=None)
    without = {"group": groups, "sample": samples > 1, "repeat": repeats > 1, "variant": variants and llms}
    plan = Plan(
        lower_is_better=frozenset(criteria[1:]) if rng.random() < 0.3 else frozenset(),
        equivalence_margin_ratings=0.3 if rng.random() < 0.3 else None,
        unit=str(rng.choice(["auto", "auto", "annotator", "item"])),  # type: ignore[arg-type]
        rating_test="welch" if rng.random() < 0.1 else "auto",
        correction="bh" if rng.random() < 0.5 else "holm",
        regularisation=0.5 if rng.random() < 0.2 else None,
    )
    return table.drop(name for name, kept in without.items() if not kept), plan


def _score(rng: np.random.Generator, scale: str, middle: float) -> float | None:
    score = middle + rng.normal()
    if rng.random() < 0.04:
        return None
    if scale == "slider":
        return float(np.clip(np.round(20 * score, 1), 0, 100))
    return float(np.round(3 * score) / 3 if scale == "thirds" else np.clip(np.round(score), 1, 5))


def choices(rng: np.random.Generator) -> Made:
    """Choose between systems: LLMs in several visits, repeats, gaps, lopsided designs, each pair once or both ways."""
    people, llms, visits = int(rng.choice([2, 3, 5, 12])), int(rng.choice([0, 0, 1, 2])), int(rng.choice([1, 3, 12]))
    items, k, share = int(rng.choice([3, 10, 30])), int(rng.choice([2, 3, 4])), rng.choice([0.9, 0.4, 0.15])
    repeats, once, lopsided = int(rng.choice([1, 1, 2])), rng.random() < 0.5, rng.random() < 0.3
    who: list[tuple[str, str, str | None]] = [(f"w{n:02}", "human", None) for n in range(people)]
    who += [(f"gpt{model}", "llm", f"v{visit}") for model in range(llms) for visit in range(visits)]
    rows: list[tuple[Any, ...]] = []
    for place, (annotator, kind, visit) in enumerate(who):
        for item, x, y in np.ndindex(max(1, items // 4) if lopsided and place else items, k, k):
            if x == y or (once and (x < y) == bool((place + x + y) % 2)) or rng.random() > share:
                continue
            for repeat in range(repeats):
                won = 0.45 - 0.08 * (x - y)
                winner = None if rng.random() < 0.03 else str(rng.choice(["x", "y", "tie"], p=[won, 0.9 - won, 0.1]))
                rows.append((annotator, kind, visit, f"i{item}", f"s{x}", f"s{y}", f"{repeat}", winner))
    names = ["annotator_id", "annotator_kind", "assignment_id", "item_id", "system_x", "system_y", "repeat", "winner"]
    table = pl.DataFrame(rows, names, orient="row", infer_schema_length=None)
    plan = Plan(
        unit=str(rng.choice(["auto", "auto", "annotator", "item"])),  # type: ignore[arg-type]
        equivalence_margin=0.1 if rng.random() < 0.3 else None,
        regularisation=0.5 if rng.random() < 0.2 else None,
    )
    return table.drop(["repeat"] if repeats == 1 else []), plan


def preferences(rng: np.random.Generator) -> Made:
    """State preferences over all pairs, most in both directions; some contradict themselves."""
    people, llms, visits, k = int(rng.choice([4, 8, 14])), int(rng.choice([0, 0, 1])), 3, int(rng.choice([2, 3, 4]))
    exposures = [[None], ["1", "5"]][rng.integers(2)]
    who: list[tuple[str, str, str | None]] = [(f"p{n:02}", "human", None) for n in range(people)]
    who += [("gpt", "llm", f"t{n}") for n in range(llms * visits)]
    rows: list[tuple[Any, ...]] = []
    for annotator, kind, visit in who:
        lean = rng.normal(0, 0.05)
        for criterion in ("fluency", "cover"):
            for exposure in exposures:
                for x, y in np.ndindex(k, k):
                    if x == y or rng.random() < 0.15:
                        continue
                    said = np.clip(0.48 + lean + 0.1 * (y - x) + rng.normal(0, 0.05), 0, 1)
                    shown = "" if rng.random() < 0.04 else f"{said:.2f}"
                    rows.append((annotator, kind, visit, criterion, exposure, "ABCD"[x], "ABCD"[y], shown))
    names = ["annotator_id", "annotator_kind", "assignment_id", "criterion", "exposure", "system_x", "system_y"]
    table = pl.DataFrame(rows, [*names, "preference"], orient="row", infer_schema_length=None)
    return table, Plan(equivalence_margin=0.1 if rng.random() < 0.3 else None)


TABLES: Mapping[str, Callable[[np.random.Generator], Made]] = {
    "ratings": ratings,
    "choices": choices,
    "preferences": preferences,
}


def random_table(kind: str, seed: int) -> Made:
    """Return a table whose rows stand in any order, and a plan."""
    rng = np.random.default_rng([seed, [*TABLES].index(kind)])
    table, plan = TABLES[kind](rng)
    return table.sample(fraction=1, shuffle=True, seed=seed), plan
