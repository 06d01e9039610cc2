"""Files of tools that collect answers, known by their keys: neither outputs nor a row an answer; and means of them."""

from __future__ import annotations

import re
from collections.abc import Collection

CLIPS, CONDITIONS = frozenset(("file_url", "n")), frozenset(("condition_name", "n"))  # of P.808's tables of means
CENTRE = re.compile(r"\b(?:mos|mean|average|avg)\b", re.IGNORECASE)
SPREAD = re.compile(r"^95% ?CI|\b(?:ci|std|sd|stdev|stderr|sem|se)\b", re.IGNORECASE)
COUNTED = frozenset(("n", "count", "votes", "num_votes", "n_votes"))
RESULTS = {  # how columns of results are called, in small letters and figures alone
    "shares of wins": re.compile(
        r"(?:lc|lengthcontrolled|raw|avg|mean)?win(?:ning)?(?:rate|s?share|percent(?:age)?|pct)s?"
    ),
    "Elo ratings": re.compile(r"(?:arena)?elo(?:rating|score)?"),
    "counts of wins": re.compile(r"wins?(?:a|1|x|modela)"),
}
PEARMUT = frozenset(("user_id", "item_i", "annotation"))  # of its annotations, a line a document and annotator

QUESTIONNAIRES = {  # columns that exports of a row a person have, a column a question
    "LimeSurvey": frozenset(("submitdate", "lastpage", "startlanguage")),
    "SurveyMonkey": frozenset(("respondent id", "collector id", "date created")),
    "Microsoft Forms": frozenset(("id", "start time", "completion time", "email")),
    "SoSci Survey": frozenset(("case", "serial", "questnnr")),
    "REDCap": frozenset(("record_id", "redcap_survey_identifier")),
    "Google Forms": frozenset(("timestamp",)),
}
GRID = re.compile(r"\S.* \[.+\]$")  # "Rate A [Fluency]", a row of Google's grids


def questionnaire_of(columns: Collection[str]) -> str | None:
    """Name the tool in whose export each person has a row and each question a column, by its columns.

    >>> questionnaire_of(["id", "submitdate", "lastpage", "startlanguage", "G1Q1"])
    'LimeSurvey'
    >>> questionnaire_of(["Timestamp", "Rate A [Fluency]", "Rate B [Fluency]"]), questionnaire_of(["Timestamp", "Item"])
    ('Google Forms', None)
    """
    plain = {name.strip().strip("\ufeff").lower() for name in columns}
    found = next((tool for tool, own in QUESTIONNAIRES.items() if plain >= own), None)
    return None if found == "Google Forms" and sum(map(bool, map(GRID.match, columns))) < 2 else found


def annotations_of(columns: Collection[str]) -> str | None:
    """Name the tool whose annotations a file holds, by its columns.

    >>> annotations_of(["annotation", "actions", "item", "user_id", "item_i"]), annotations_of(["item", "user_id"])
    ('Pearmut', None)
    """
    return "Pearmut" if {*columns} >= PEARMUT else None


def is_p808_means(columns: Collection[str]) -> bool:
    """Tell whether a file is one of P.808's tables of means, by clip or condition.

    >>> is_p808_means(["condition_name", "noise", "n", "MOS", "std", "95%CI"]), is_p808_means(["workerid", "vote"])
    (True, False)
    """
    of_scale = any(name.startswith("95%CI") for name in columns) and any("MOS" in name for name in columns)
    return of_scale and ({*columns} >= CLIPS or {*columns} >= CONDITIONS)


def shares_of(columns: Collection[str]) -> str | None:
    """Say which results a file holds in the place of answers: shares of wins, or Elo ratings; ``None``: none are seen.

    >>> shares_of(["model", "win_rate", "n"]), shares_of(["model", "Arena Elo"]), shares_of(["model", "winner"])
    ('shares of wins (win_rate)', 'Elo ratings (Arena Elo)', None)
    """
    plain = {name: re.sub(r"[\W_]+", "", name).lower() for name in columns}
    for what, called in RESULTS.items():
        if found := next((name for name, own in plain.items() if called.fullmatch(own)), None):
            return f"{what} ({found})"
    return None


def means_of(columns: Collection[str]) -> str | None:
    """Say whose means a file holds, where a mean stands beside its spread and a count; ``None``: none are seen.

    >>> means_of(["condition_name", "n", "MOS", "95%CI"])
    "P.808's means (votes_per_clip, votes_per_cond); take its file _votes_per_worker_"
    >>> means_of(["system", "mean_score", "sd", "n"])
    'means (mean_score, sd, n); take the table that has a row an answer'
    >>> means_of(["system", "score"]) is None
    True
    """
    if is_p808_means(columns):
        return "P.808's means (votes_per_clip, votes_per_cond); take its file _votes_per_worker_"
    words = {name: name.replace("_", " ").strip() for name in columns}
    centre, spread = (next((name for name in columns if one.search(words[name])), None) for one in (CENTRE, SPREAD))
    counted = next((name for name in columns if name.strip().lower() in COUNTED), None)
    if centre is None or spread is None or counted is None:
        return None
    return f"means ({centre}, {spread}, {counted}); take the table that has a row an answer"
