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
    "counts of wins": re.compile(r"(?:n|num|number(?:of)?)?wins?(?:a|1|x|modela|count)?"),
}
PEARMUT = frozenset(("user_id", "item_i", "annotation"))  # of its annotations, a line a document and annotator

OTHERS = {  # columns of files that hold no row an answer -> what they hold, and what becomes of it
    frozenset(("classification_id", "subject_data", "annotations")): "classifications of Zooniverse, whose answers and "
    "subjects are JSON in cells: one answer a row by --map 'annotations[0].value=winner' (or =score), its people and "
    "items by --map user_name=annotator_id --map subject_ids=item_id, systems by --set system_x=NAME --set "
    "system_y=NAME (or system)",
    frozenset(("human_ref_A", "human_ref_B", "score_ratio")): "SHP's pairs of comments, which no named systems wrote: "
    "votes of readers about texts compare no systems",
    frozenset(
        ("orig_instruction", "orig_response", "orig_score")
    ): "Prometheus's feedback, scores of responses that no "
    "named system wrote; where one did, add a column system, and say --map orig_score=score --map "
    "orig_instruction=item_id",
    frozenset(("prompt", "image_path", "rank")): "rankings of images in lists (HPDv2), of which no column names the "
    "systems; write a row an image: annotator_id, item_id, system, rank (1 is the best)",
    frozenset(("setup_id", "example_idx", "annotations")): "annotations of factgenie, a line an output, its marks a "
    "list; write a row a mark (annotator_id, item_id, system, category, start, end) and give it as --spans FILE",
    frozenset(("instance_id", "label_annotations", "span_annotations")): "answers of POTATO, one of several files; "
    "`spa import potato FOLDER --mapping import.toml --out tables` reads its folder",
    frozenset(("_input_hash", "_task_hash", "answer")): "annotations of Prodigy; what they say stands in a list: --map "
    "'accept[0]=winner' (or =score) --map _session_id=annotator_id, and name item and systems by --map or --set",
    frozenset(("traceId", "name", "value", "dataType")): "scores of Langfuse, whose systems stand with its traces; add "
    "a column system, and say --map name=criterion --map value=score --map traceId=item_id --map "
    "authorUserId=annotator_id",
    frozenset(("tstamp", "type", "models", "states")): "FastChat's log of votes; one of its rows of votes by --map "
    "'models[0]=system_x' --map 'models[1]=system_y' --map type=winner --map ip=annotator_id --map YOURS=item_id "
    "--value leftvote=x --value rightvote=y --value tievote=tie --value bothbad_vote=both_bad",
    frozenset(("answer1_id", "answer2_id", "reviewer_id", "score")): "reviews of Vicuna, whose score is a list of that "
    "of answer1 and that of answer2; write a row a score: annotator_id (the reviewer), item_id (question_id), system, "
    "score",
}
VBENCH = frozenset(
    "subject_consistency background_consistency temporal_flickering motion_smoothness dynamic_degree aesthetic_quality "
    "imaging_quality object_class multiple_objects human_action color spatial_relationship scene temporal_style "
    "appearance_style overall_consistency".split()
)
OPTION = re.compile(r"\S+:::\S+")  # a column an option of a question, as POTATO writes tables

QUESTIONNAIRES = {  # columns that exports of a row a person have, a column a question
    "LimeSurvey": frozenset(("submitdate", "lastpage", "startlanguage")),
    "SurveyMonkey": frozenset(("respondent id", "collector id", "date created")),
    "Microsoft Forms": frozenset(("id", "start time", "completion time", "email")),
    "SoSci Survey": frozenset(("case", "serial", "questnnr")),
    "Typeform": frozenset(("#", "start date (utc)", "submit date (utc)")),
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


def other_file(columns: Collection[str]) -> str | None:
    """Say which known file that has no row an answer has these columns, and what to do; ``None`` of others.

    >>> other_file(["user", "instance_id", "fluency:::1", "fluency:::2"])[:40]
    'a table of POTATO, a column an option (f'
    >>> other_file(["user", "instance_id", "fluency"]) is None
    True
    """
    names = {*columns}
    options = [name for name in columns if OPTION.fullmatch(name)]
    if "instance_id" in names and len(options) > 1:
        return (
            f"a table of POTATO, a column an option ({options[0]}); `spa import potato FOLDER --mapping import.toml "
            "--out tables` reads its folder"
        )
    if names and names <= VBENCH:
        return (
            f"scores that VBench computed ({min(names)}), no answers of people; beside these give them by --metrics "
            "FILE: item_id, system, metric, score"
        )
    return next((said for own, said in OTHERS.items() if own <= names), None)


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
