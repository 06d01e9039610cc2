"""Results of invented studies that hold everything a report must be able to show."""

from __future__ import annotations

from itertools import combinations
from typing import Any

HOSTILE = "<script>alert(1)</script>"
TEMPLATE = "{{7*7}}"
LATEX = r"a_b & 50% # $x$ {y} ~ ^ \textbf"
CHINESE = "系统甲"
ARABIC = "نظام ب"
SYSTEMS = (HOSTILE, TEMPLATE, LATEX, CHINESE, ARABIC)
SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def empty_results() -> dict[str, Any]:
    """Return results without any answer: every array is there and empty."""
    return {
        "schema": 2,
        "settings": {
            "fwer": 0.05,
            "consistency_tau": 1.1,
            "confidence": 0.95,
            "seed": 7,
            "versions": {"spa-eval": "0.1.0", "scipy": "1.17.0"},
            "inputs": [{"table": "preferences", "file": "preferences.csv", "sha256": SHA}],
            "lower_is_better": [],
        },
        "study": None,
        "groups": [],
        "exclusions": [],
        "missing": [],
        "preferences": [],
        "preference_directions": [],
        "ratings": {"means": [], "pairs": []},
        "choices": {"pairs": []},
        "bradley_terry": [],
        "rankings": [],
        "ranking_agreement": [],
        "agreement": [],
        "annotator_pairs": [],
        "correlations": [],
        "expected": [],
        "disagreements": [],
        "warnings": [],
        "conventions": [],
    }


def preference(group: str, system_x: str, system_y: str, mean: float, **changes: Any) -> dict[str, Any]:
    """Return one row of ``preferences``; its verdict follows from ``p_adjusted``."""
    p_adjusted = changes.get("p_adjusted", 0.00012)
    clear = p_adjusted is not None and p_adjusted <= 0.05
    row = {
        "group": group,
        "criterion": "overall",
        "exposure": 5,
        "system_x": system_x,
        "system_y": system_y,
        "n": 88,
        "mean": mean,
        "sd": 0.2213,
        "ci_low": mean - 0.0469,
        "ci_high": mean + 0.0469,
        "t": (mean - 0.5) / 0.0236,
        "df": 87,
        "p_value": None if p_adjusted is None else p_adjusted / 4,
        "p_adjusted": p_adjusted,
        "stars": "" if p_adjusted is None else "*" * sum(p_adjusted < bound for bound in (0.10, 0.05, 0.01)),
        "verdict": None if p_adjusted is None else ("indifferent" if not clear else "x" if mean > 0.5 else "y"),
    }
    return {**row, **changes}


def untested(row: dict[str, Any], reason: str) -> dict[str, Any]:
    """Return a row whose test could not be run."""
    nothing = dict.fromkeys(("ci_low", "ci_high", "t", "df", "p_value", "p_adjusted", "verdict"))
    return {**row, **nothing, "stars": "", "reason": reason}


def rating_pair(group: str, system_x: str, system_y: str, difference: float, p_adjusted: float) -> dict[str, Any]:
    """Return one row of ``ratings.pairs``."""
    clear = p_adjusted <= 0.05
    return {
        "group": group,
        "criterion": "overall",
        "system_x": system_x,
        "system_y": system_y,
        "unit": "annotator",
        "n": 88,
        "mean_difference": difference,
        "test": "paired t",
        "t": difference * 6,
        "df": 87,
        "p_value": p_adjusted / 3,
        "p_adjusted": p_adjusted,
        "stars": "*" * sum(p_adjusted < bound for bound in (0.10, 0.05, 0.01)),
        "verdict": "indifferent" if not clear else "x" if difference > 0 else "y",
    }


def _study() -> dict[str, Any]:
    return {
        "id": "stories",
        "title": f"Which storyteller do readers prefer? {HOSTILE}",
        "language": "en",
        "systems": [
            {"id": system, "name": None, "role": "human" if system == CHINESE else "system"} for system in SYSTEMS
        ],
        "criteria": [{"id": "overall", "name": "overall", "lower_is_better": False}],
        "exposures": [5],
        "elicitations": ["spa", "likert", "choice"],
        "questions": [
            {
                "elicitation": "spa",
                "criterion": "overall",
                "text": "How likely is it, from 0 to 100, that A writes better than B?",
            },
            {"elicitation": "likert", "criterion": "overall", "text": f"How good is this story? {HOSTILE}"},
            {"elicitation": "choice", "criterion": "overall", "text": "Which of the two is better?"},
        ],
        "annotators_wanted": 90,
        "pay": "2.50",
        "currency": "USD",
        "dropped_items": [
            {"item_id": "i17", "rule": "length matching", "evidence": "no sentence of the reference fits 12 words"}
        ],
    }


def _groups() -> list[dict[str, Any]]:
    return [
        {
            "group": "human",
            "annotator_kind": "human",
            "annotators": 90,
            "assignments": 90,
            "excluded_annotators": 2,
            "excluded_assignments": 2,
            "form": "identical",
        },
        {
            "group": "simulated",
            "annotator_kind": "simulated",
            "annotators": 30,
            "assignments": 30,
            "excluded_annotators": 0,
            "excluded_assignments": 0,
            "form": "identical",
        },
        {
            "group": "gpt<4>/persona_a",
            "annotator_kind": "llm",
            "annotators": 1,
            "assignments": 90,
            "excluded_annotators": 0,
            "excluded_assignments": 1,
            "form": "variant",
        },
    ]


def _preferences() -> list[dict[str, Any]]:
    a, b, c, d, e = SYSTEMS
    llm = "gpt<4>/persona_a"
    return [
        preference("human", b, a, 0.688),
        preference("human", c, b, 0.630, p_adjusted=0.0021),
        preference("human", d, c, 0.575, p_adjusted=0.0312),
        preference("human", e, d, 0.544, p_adjusted=0.1234),
        preference("human", a, e, 0.42, p_adjusted=0.0417),
        preference("simulated", b, a, 0.71),
        preference("simulated", c, b, 0.38, p_adjusted=0.0082),
        untested(preference("simulated", d, c, 0.7, sd=0.0), "no variation: every answer is 0.7"),
        preference(llm, b, a, 0.81),
        preference(llm, c, b, 0.44, p_adjusted=0.0291),
        untested(preference(llm, d, c, 0.5, sd=None, n=1), "a test needs at least 2 answers"),
    ]


def _directions() -> list[dict[str, Any]]:
    a, b, *_ = SYSTEMS
    return [
        {
            "group": "human",
            "criterion": "overall",
            "exposure": 5,
            "system_x": x,
            "system_y": y,
            "n": 90,
            "mean": mean,
            "sd": 0.25,
            "mean_sum": 1.004,
            "p_symmetry": 0.6123,
            "n_symmetry": 90,
        }
        for x, y, mean in ((b, a, 0.69), (a, b, 0.314))
    ]


def _ratings() -> dict[str, Any]:
    a, b, c, d, e = SYSTEMS
    llm = "gpt<4>/persona_a"
    means = [
        {
            "group": group,
            "criterion": "overall",
            "system": system,
            "n": 88,
            "mean": 2.4 + 0.31 * position,
            "sd": 1.02,
            "sd_population": 1.01,
            "unit": "annotator",
            "n_units": 88,
            "ci_low": 2.2 + 0.31 * position,
            "ci_high": 2.6 + 0.31 * position,
        }
        for group in ("human", llm)
        for position, system in enumerate(SYSTEMS)
    ]
    means[-1].update(ci_low=None, ci_high=None)
    pairs = [
        rating_pair("human", b, a, 0.644, 0.0004),
        rating_pair("human", c, b, 0.322, 0.21),
        rating_pair("human", d, c, -0.244, 0.03),
        rating_pair("human", e, d, -0.389, 0.094),
        rating_pair("human", a, e, -0.822, 0.0002),
        rating_pair(llm, b, a, 0.9, 0.0001),
        untested(rating_pair(llm, c, b, 0.0, 1.0), "no variation: every difference is 0"),
    ]
    return {"means": means, "pairs": pairs}


def _choices() -> dict[str, Any]:
    a, b, c, *_ = SYSTEMS
    row = {
        "group": "human",
        "criterion": "overall",
        "system_x": b,
        "system_y": a,
        "unit": "annotator",
        "n": 88,
        "wins_x": 60,
        "wins_y": 20,
        "ties": 8,
        "win_rate": 0.727,
        "ci_low": 0.64,
        "ci_high": 0.81,
        "p_value": 0.00001,
        "p_adjusted": 0.00002,
        "p_binomial": 0.000008,
        "stars": "***",
        "verdict": "x",
    }
    alone = {**row, "system_x": c, "system_y": b, "n": 1, "wins_x": 1, "wins_y": 0, "ties": 0, "win_rate": 1.0}
    return {"pairs": [row, untested({**alone, "p_binomial": None}, "a test needs at least 2 units")]}


def _strengths() -> list[dict[str, Any]]:
    strengths = (-0.52, 0.11, 0.2, None, 0.21)
    return [
        {
            "source": "preferences",
            "group": "human",
            "criterion": "overall",
            "system": system,
            "strength": strength,
            "ci_low": None if strength is None else strength - 0.2,
            "ci_high": None if strength is None else strength + 0.2,
            "interval": None if strength is None else "clustered by annotator",
            "rank": None if strength is None else rank,
            "rank_low": None,
            "rank_high": None,
            **({"reason": "wins every comparison"} if strength is None else {}),
        }
        for system, strength, rank in zip(SYSTEMS, strengths, (4, 3, 2, 0, 1), strict=True)
    ]


def _rankings() -> list[dict[str, Any]]:
    a, b, c, d, e = SYSTEMS
    orders = {
        ("preferences", "human"): [[e], [d], [c], [b], [a]],
        ("preferences", "gpt<4>/persona_a"): [[d], [b], [c], [e, a]],
        ("ratings", "human"): [[d], [e, c], [b], [a]],
        ("ratings", "gpt<4>/persona_a"): [[e], [d], [c], [b], [a]],
        ("choices", "human"): [[b], [a]],
    }
    left = [{"system": c, "reason": "lost every comparison"}]
    return [
        {
            "source": source,
            "group": group,
            "criterion": "overall",
            "order": order,
            **({"unranked": left} if source == "choices" else {}),
        }
        for (source, group), order in orders.items()
    ]


def _comparisons() -> dict[str, Any]:
    _, b, c, d, _ = SYSTEMS
    llm = "gpt<4>/persona_a"
    return {
        "ranking_agreement": [
            {
                "a": "preferences:human",
                "b": "ratings:human",
                "criterion": "overall",
                "kendall_tau": 0.6,
                "ci_low": None,
                "ci_high": None,
            },
            {
                "a": "preferences:human",
                "b": f"preferences:{llm}",
                "criterion": "overall",
                "kendall_tau": None,
                "ci_low": None,
                "ci_high": None,
                "reason": "one ranking is all ties",
            },
        ],
        "disagreements": [
            {
                "criterion": "overall",
                "system_x": c,
                "system_y": b,
                "verdicts": [
                    {"source": "preferences", "group": "human", "verdict": "x", "p_adjusted": 0.0021},
                    {"source": "preferences", "group": llm, "verdict": "y", "p_adjusted": 0.0291},
                    {"source": "ratings", "group": "human", "verdict": "indifferent", "p_adjusted": 0.21},
                ],
            },
            {
                "criterion": "overall",
                "system_x": d,
                "system_y": c,
                "verdicts": [
                    {"source": "preferences", "group": "human", "verdict": "x", "p_adjusted": 0.0312},
                    {"source": "ratings", "group": "human", "verdict": "indifferent", "p_adjusted": 0.3},
                ],
            },
        ],
    }


def full_results() -> dict[str, Any]:
    """Return a study with all sections, five systems with hostile names, and three groups."""
    a, b, c, d, _ = SYSTEMS
    return {
        **empty_results(),
        "study": _study(),
        "groups": _groups(),
        "exclusions": [
            {
                "annotator_id": f"person {HOSTILE}",
                "assignment_id": None,
                "group": "human",
                "rule": "self_consistency",
                "evidence": f"{b} over {a}: 70% + 60% = 130%, more than 110%",
            },
            {
                "annotator_id": "h-22",
                "assignment_id": None,
                "group": "human",
                "rule": "screening",
                "evidence": "native speaker: no",
            },
            {
                "annotator_id": "gpt<4>",
                "assignment_id": "a00017",
                "group": "gpt<4>/persona_a",
                "rule": "self_consistency",
                "evidence": "sum 1.4, more than 1.1",
            },
        ],
        "missing": [
            {
                "source": "ratings",
                "group": "gpt<4>/persona_a",
                "criterion": "overall",
                "reason": "no number in the reply",
                "n": 3,
            }
        ],
        "preferences": _preferences(),
        "preference_directions": _directions(),
        "ratings": _ratings(),
        "choices": _choices(),
        "bradley_terry": _strengths(),
        "rankings": _rankings(),
        **_comparisons(),
        "expected": [
            {
                "source": source,
                "group": "human",
                "system_x": x,
                "system_y": y,
                "expected": wanted,
                "found": found,
                "recovered": recovered,
            }
            for source, x, y, wanted, found, recovered in (
                ("preferences", b, a, "x", "x", True),
                ("preferences", d, c, "indifferent", "x", False),
                ("ratings", b, a, "x", "x", True),
                ("ratings", d, c, "indifferent", None, False),
            )
        ],
        "warnings": ["fewer than 6 clusters stand behind an interval: read it with caution"],
        "conventions": [{"term": "Holm family", "explanation": "all tests of one source, group and criterion"}],
    }


def pair_results() -> dict[str, Any]:
    """Return the smallest study: two systems, one pair, people only."""
    return {**empty_results(), "preferences": [preference("human", "A & B", "B", 0.68)]}


def many_results(systems: int = 12) -> dict[str, Any]:
    """Return all pairs of many systems, judged on two criteria at two exposures by two groups."""
    names = [f"system-{position:02d}" for position in range(systems)]
    rows = [
        preference(group, x, y, 0.5 + 0.01 * (names.index(y) - names.index(x)), criterion=criterion, exposure=exposure)
        for criterion in ("coherence", "relevance")
        for exposure in (4, 8)
        for x, y in combinations(names, 2)
        for group in ("human", "gpt-4")
    ]
    return {
        **empty_results(),
        "groups": [
            {
                "group": group,
                "annotator_kind": kind,
                "annotators": 88,
                "assignments": 88,
                "excluded_annotators": 0,
                "excluded_assignments": 0,
                "form": None,
            }
            for group, kind in (("human", "human"), ("gpt-4", "llm"))
        ],
        "preferences": rows,
    }
