"""What the files of each set hold: a function a set, which yields the rows of tidy tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spa.errors import ResponseError, shortened
from spa.importers.answer_format import ImportRequest
from spa.importers.feedback import set_of
from spa.importers.foreign_files import LIST, OBJECT, number, of_kind, shown
from spa.importers.foreign_rows import ForeignRow, files_below, read_rows
from spa.importers.questions_of_files import QuestionsAsked
from spa.importers.tables import UNNAMED, ImportedTables, Row
from spa.importers.unnamed import NOTE, about, repeated

GPT4 = "gpt-4"  # who rated UltraFeedback
NEITHER = -100.0  # of HelpSteer2: no preference could be given
CRITERIA = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")  # of HelpSteer2
SIDES = ("model_0", "model_1", "label_0", "label_1", "image_0_uid", "image_1_uid", "image_0_url", "image_1_url")
READ = {"pick_a_pic": ("caption", "user_id", "has_label", *SIDES)}  # columns of sets whose files hold pictures, too
TEXT = "_text"  # what was judged, which tells several outputs of a system apart
Yielded = Iterator[tuple[str, Row]]


@dataclass(slots=True)
class Reading:
    """What was asked, and what is counted on the way."""

    asked: QuestionsAsked
    skipped: Counter[str] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)


def read_sets(request: ImportRequest) -> ImportedTables:
    """Read files of the sets; raise ResponseError where one is of none, or holds what the set does not write."""
    reading = Reading(asked=QuestionsAsked.from_options(request.options))
    rows: dict[str, list[Row]] = {"ratings": [], "choices": []}
    files = files_below(request.paths, lambda one: set_of(one) is not None, "files of a set of feedback")
    kinds = {path: set_of(path) for path in files}
    for path, kind in kinds.items():
        if kind == "prism_conversations" and "prism_utterances" in kinds.values():
            reading.notes[f"{path}: not read, as the utterances beside it hold the same scores"] = None
            continue
        if kind is None:
            raise ResponseError(f"{path}: expected a file of {', '.join(READERS)}, got none of these")
        for table, row in READERS[kind](read_rows(path, only=READ.get(kind)), reading):
            rows[table].append(row)
    rows = {table: repeated(_sampled(own)) for table, own in rows.items()}
    unnamed = any(row["annotator_id"] == UNNAMED for own in rows.values() for row in own)
    notes = [*reading.notes, *([NOTE] if unnamed else [])]
    return ImportedTables(rows=rows, skipped=dict(reading.skipped), notes=tuple(notes))


def _sampled(rows: list[Row]) -> list[Row]:
    """Return the rows with a number for each output of a system, where an item has several, in the order of texts."""
    texts: defaultdict[tuple[object, ...], set[str]] = defaultdict(set)
    for row in rows:
        texts[about(row)].add(row.get(TEXT) or "")
    places = {key: {text: str(at) for at, text in enumerate(sorted(own), start=1)} for key, own in texts.items()}
    made = []
    for row in rows:
        text = row.pop(TEXT, None) or ""
        own = places[about(row)]
        made.append({**row, "sample": own[text]} if len(own) > 1 else row)
    return made


def _person(row: ForeignRow, name: str) -> str:
    return row.text(name) or UNNAMED


def _rating(who: str, item: str, system: str, criterion: str, score: float | None, **more: Any) -> tuple[str, Row]:
    reason = "no score" if score is None else None
    row = {"annotator_id": who, "annotator_kind": "human", "item_id": item, "system": system, "criterion": criterion}
    return "ratings", {**row, "score": score, "missing_reason": reason, **more}


def _choice(who: str, item: str, systems: Sequence[str], winner: str | None, text: str = "") -> tuple[str, Row]:
    reason = "no answer" if winner is None else None
    row = {"annotator_id": who, "annotator_kind": "human", "item_id": item, "criterion": "overall", TEXT: text}
    return "choices", {
        **row,
        "system_x": systems[0],
        "system_y": systems[1],
        "winner": winner,
        "missing_reason": reason,
    }


def _texts(systems: Sequence[str], texts: Sequence[str]) -> str:
    """Return both outputs as one text, alike whichever stood first."""
    return "\n".join(f"{system}\t{text}" for system, text in sorted(zip(systems, texts, strict=True)))


def _list(row: ForeignRow, name: str) -> list[Any]:
    found: list[Any] = of_kind(LIST, row.cells.get(name), f"{row.place}, {name}")
    return found


def _object(value: object, place: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = of_kind(OBJECT, value, place)
    return found


def _words(record: Mapping[str, Any], name: str, place: str) -> str:
    value = record.get(name)
    if value is None or isinstance(value, list | dict) or not str(value).strip():
        raise ResponseError(f"{place}: expected {name}, got {shown(value)}")
    return str(value).strip()


def _ultrafeedback(rows: Iterable[ForeignRow], reading: Reading) -> Yielded:
    """Yield the ratings by aspect; the score of the critique is none (its 1 became 10)."""
    for row in rows:
        item = row.name("instruction")
        for at, one in enumerate(_list(row, "completions"), start=1):
            place = f"{row.place}, completion {at}"
            record = _object(one, place)
            system = _words(record, "model", place)
            for aspect, given in _object(record.get("annotations"), f"{place}, annotations").items():
                rating = _object(given, f"{place}, {aspect}").get("Rating") if given is not None else None
                missing = rating is None or str(rating).strip().upper() in ("N/A", "NA", "")
                score = None if missing else number(str(rating), f"{place}, {aspect}, Rating")
                more = {"annotator_kind": "llm", TEXT: str(record.get("response") or "")}
                yield _rating(GPT4, item, system, aspect, score, **more)
    reading.notes["UltraFeedback: the aspects' Rating is read, by gpt-4; overall_score is not"] = None


def _compared_summaries(rows: Iterable[ForeignRow], reading: Reading) -> Yielded:
    for row in rows:
        both = _list(row, "summaries")
        if len(both) != 2:
            raise ResponseError(f"{row.place}, summaries: expected two, got {len(both)}")
        records = [_object(one, f"{row.place}, summary {at}") for at, one in enumerate(both)]
        systems = [_words(one, "policy", f"{row.place}, summary {at}") for at, one in enumerate(records)]
        if systems[0] == systems[1]:
            reading.skipped["comparisons of a policy with itself"] += 1
            continue
        choice = row.text("choice")
        if choice not in ("0", "1", None):
            raise ResponseError(f"{row.place}, choice: expected 0 or 1, got {shortened(repr(choice), 40)}")
        winner = None if choice is None else "xy"[int(choice)]
        texts = _texts(systems, [str(one.get("text") or "") for one in records])
        yield _choice(_person(row, "worker"), _post(row), systems, winner, texts)


def _rated_summaries(rows: Iterable[ForeignRow], reading: Reading) -> Yielded:
    for row in rows:
        summary = _object(row.cells.get("summary"), f"{row.place}, summary")
        system = _words(summary, "policy", f"{row.place}, summary")
        axes = _object(summary.get("axes"), f"{row.place}, axes")
        for axis, value in axes.items():
            if isinstance(value, bool):
                reading.notes[f"not read: {axis}, which is true or false"] = None
                continue
            score = number(value, f"{row.place}, {axis}")
            who = _person(row, "worker")
            yield _rating(who, _post(row), system, axis, score, **{TEXT: str(summary.get("text") or "")})


def _post(row: ForeignRow) -> str:
    return _words(_object(row.cells.get("info"), f"{row.place}, info"), "id", f"{row.place}, info")


def _pick_a_pic(rows: Iterable[ForeignRow], reading: Reading) -> Yielded:
    winners = {1.0: "x", 0.0: "y", 0.5: "tie"}
    for row in rows:
        systems = [row.name("model_0"), row.name("model_1")]
        images = [row.text(f"image_{at}_uid") or row.text(f"image_{at}_url") or "" for at in range(2)]
        if systems[0] == systems[1]:
            reading.skipped["comparisons of a model with itself"] += 1
            continue
        if images[0] and images[0] == images[1]:
            reading.skipped["comparisons of a picture with itself"] += 1
            continue
        first, second = row.number("label_0"), row.number("label_1")
        labelled = (row.text("has_label") or "true").lower() in ("true", "1", "1.0") and first is not None
        if labelled and (first not in winners or second != 1 - (first or 0)):
            raise ResponseError(
                f"{row.place}: expected label_0 and label_1 of 0, 0.5 or 1 that add up to 1, got {first} and {second}"
            )
        winner = winners[first] if labelled and first is not None else None
        yield _choice(_person(row, "user_id"), row.name("caption"), systems, winner, _texts(systems, images))


def _prism_utterances(rows: Iterable[ForeignRow], reading: Reading) -> Yielded:
    """Yield the scores of the first turn: later ones show two answers of the model that was chosen."""
    for row in rows:
        if row.text("turn") != "0":
            _later(reading)
            continue
        who, item = _person(row, "user_id"), row.name("conversation_id")
        more = {TEXT: row.text("model_response") or ""}
        yield _rating(who, item, row.name("model_name"), "overall", row.number("score"), **more)


def _prism_conversations(rows: Iterable[ForeignRow], reading: Reading) -> Yielded:
    for row in rows:
        who, item = _person(row, "user_id"), row.name("conversation_id")
        for at, one in enumerate(_list(row, "conversation_history"), start=1):
            place = f"{row.place}, utterance {at}"
            said = _object(one, place)
            if said.get("role") != "model":
                continue
            if str(said.get("turn")) != "0":
                _later(reading)
                continue
            score = number(said.get("score"), f"{place}, score")
            more = {TEXT: str(said.get("content") or "")}
            yield _rating(who, item, _words(said, "model_name", place), "overall", score, **more)


def _later(reading: Reading) -> None:
    reading.skipped["scores of turns after the first, which compare a model with itself"] += 1


def _helpsteer_preferences(rows: Sequence[ForeignRow], reading: Reading) -> Yielded:
    """Yield each person's preference, by its sign."""
    asked = reading.asked
    place = rows[0].place.rpartition(", ")[0] if rows else ""
    if asked.sides is None:
        raise ResponseError(
            f"{place}: expected the systems that are compared, got response_1 and response_2, whose generators "
            "HelpSteer2 does not name; say --compared X,Y: their names, or columns of yours that name them"
        )
    for row in rows:
        systems = asked.compared("preference_strength", row.cells, row.place)
        given = row.cells.get("all_preferences_unprocessed")
        if given is None:
            strengths = [row.number("preference_strength")]
        else:
            records = [_object(one, f"{row.place}, all_preferences_unprocessed") for one in _several(given, row)]
            strengths = [number(one.get("strength"), f"{row.place}, strength") for one in records]
        for strength in strengths:
            missing = strength is None or strength == NEITHER
            winner = None if missing or strength is None else "x" if strength < 0 else "y" if strength > 0 else "tie"
            yield _choice(UNNAMED, row.name("prompt"), systems, winner, _responses(row, systems))
    reading.notes["HelpSteer2: strengths are read by their sign, below 0 for response_1"] = None


def _several(given: object, row: ForeignRow) -> list[Any]:
    found: list[Any] = of_kind(LIST, given, f"{row.place}, all_preferences_unprocessed")
    return found


def _responses(row: ForeignRow, systems: Sequence[str]) -> str:
    return _texts(systems, [row.text("response_1") or "", row.text("response_2") or ""])


def _helpsteer_ratings(rows: Sequence[ForeignRow], reading: Reading) -> Yielded:
    asked = reading.asked
    place = rows[0].place.rpartition(", ")[0] if rows else ""
    if asked.system_column is None:
        raise ResponseError(
            f"{place}: expected the systems that are rated, got responses whose generators HelpSteer2 does not name; "
            "name a column of yours with --system-column"
        )
    for row in rows:
        for criterion in CRITERIA:
            system = asked.system(criterion, row.cells, row.place)
            more = {TEXT: row.text("response") or ""}
            yield _rating(UNNAMED, row.name("prompt"), system, criterion, row.number(criterion), **more)


READERS: dict[str, Callable[[Sequence[ForeignRow], Reading], Yielded]] = {
    "ultrafeedback": _ultrafeedback,
    "compared_summaries": _compared_summaries,
    "rated_summaries": _rated_summaries,
    "pick_a_pic": _pick_a_pic,
    "prism_utterances": _prism_utterances,
    "prism_conversations": _prism_conversations,
    "helpsteer_preferences": _helpsteer_preferences,
    "helpsteer_ratings": _helpsteer_ratings,
}
