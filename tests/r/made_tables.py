"""Made answers of twelve people about three systems, exported for R, and what this package says of them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from analysis import Plan, Reading, analyse, read_tables
from spa.responses.table_files import write_codebook, write_tables
from spa.responses.tidy_tables import ANNOTATORS, CHOICES, EXCLUSIONS, PREFERENCES, RATINGS, Tables

SYSTEMS = ("alpha", "beta", "gamma")
UTILITIES = {"alpha": 0.0, "beta": 0.4, "gamma": 1.1}
PEOPLE, ITEMS = 12, 8
MISSING = 0.15  # share of choices without an answer
KINDS = ("preferences", "ratings", "choices")


def made_tables() -> Tables:
    """Return the tables; the same each time."""
    rng = np.random.default_rng(11)
    preferences: list[dict[str, Any]] = []
    ratings: list[dict[str, Any]] = []
    choices: list[dict[str, Any]] = []
    for person in range(PEOPLE):
        who = {
            "annotator_id": f"{person + 1:03d}",
            "annotator_kind": "human",
            "assignment_id": f"a{person}",
            "criterion": "overall",
        }
        taste = {system: utility + rng.normal(0, 0.3) for system, utility in UTILITIES.items()}
        for x, y in combinations(SYSTEMS, 2):
            stated = int(np.clip(100 / (1 + np.exp(taste[y] - taste[x])) + rng.integers(-8, 9), 2, 98))
            for first, second, chance in ((x, y, stated), (y, x, 97 - stated)):
                pair = {"system_x": first, "system_y": second, "preference": chance / 100, "exposure": 5}
                preferences.append({**who, **pair, "elicitation": "spa"})
        for item in range(ITEMS):
            shown = {**who, "item_id": f"{item:02d}"}
            for system in SYSTEMS:
                score = float(np.clip(np.rint(3 + taste[system] + rng.normal(0, 1)), 1, 5))
                ratings.append({**shown, "system": system, "score": score, "sample": 1, "elicitation": "likert"})
            for x, y in combinations(SYSTEMS, 2):
                lead = taste[x] - taste[y] + rng.logistic()
                winner = None if rng.random() < MISSING else "tie" if abs(lead) < 0.4 else "x" if lead > 0 else "y"
                reason = "no answer" if winner is None else None
                pair = {"system_x": x, "system_y": y, "winner": winner, "sample_x": 1, "sample_y": 1}
                choices.append({**shown, **pair, "missing_reason": reason, "elicitation": "choice"})
    people = [{"annotator_id": f"{n + 1:03d}", "annotator_kind": "human", "submissions": 1} for n in range(PEOPLE)]
    return Tables(
        preferences=pl.DataFrame(preferences, schema=PREFERENCES),
        ratings=pl.DataFrame(ratings, schema=RATINGS),
        choices=pl.DataFrame(choices, schema=CHOICES),
        annotators=pl.DataFrame(people, schema=ANNOTATORS),
        exclusions=pl.DataFrame(schema=EXCLUSIONS),
    )


def write_made(folder: Path) -> None:
    """Write the tables as ``spa export --column-names r`` does."""
    tables = made_tables()
    write_tables(tables, folder, names="r")
    write_codebook(tables, folder)


def figures(folder: Path) -> dict[str, dict[str, list[float]]]:
    """Return what this package finds in the tables of a folder, laid out as ``figures.R`` writes R's."""
    found = analyse(read_tables({kind: folder / f"{kind}.csv" for kind in KINDS}, Reading()), Plan())
    strengths = [row for row in found.bradley_terry if row.source == "choices"]
    errors = {row.system: (row.ci_high - row.ci_low) / 2 / stats.t.ppf(0.975, row.df) for row in strengths}
    chosen = pl.read_csv(folder / "choices.csv", infer_schema=False).drop_nulls("winner")["winner"]
    won = chosen.replace_strict({"x": 1.0, "tie": 0.5, "y": 0.0}, return_dtype=pl.Float64)
    return {
        "strength": {row.system: [row.strength] for row in strengths},
        "strength_se": {row.system: [errors[row.system], row.df] for row in strengths},
        "paired_t": {
            f"{row.system_x} {row.system_y}": [row.mean_difference, row.p_value, row.p_adjusted]
            for row in found.ratings.pairs
        },
        "preferences": {f"{row.system_x} {row.system_y}": [row.mean, row.p_value] for row in found.preferences},
        "win_rate": {"read_right": [float(won.mean()), len(won)]},  # type: ignore[arg-type]
    }
