"""promptfoo's results: what assertions, people and graders gave to the answers of providers."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables, Row

SIGNS = (b'"evalId"', b'"results"', b'"prompts"')
COUNTED = ("successes", "failures", "errors")
ERROR = "2"  # failureReason of an answer that never came
SET = "assert-set"  # type of several assertions together
HUMAN = "human"  # type of the assertion that a thumb in the viewer makes
JUDGE = "promptfoo"


def _recognise(path: Path) -> Fit:
    from spa.importers.foreign_files import beginning

    if path.suffix.lower() != ".json":
        return Fit.NONE
    begun = beginning(path)
    return Fit.CERTAIN if all(sign in begun for sign in SIGNS) else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below
    from spa.importers.tables import ImportedTables

    rows: list[Row] = []
    skipped: Counter[str] = Counter()
    notes: list[str] = []
    for path in files_below(request.paths, lambda path: _recognise(path) == Fit.CERTAIN, "results of promptfoo"):
        results, counted = _results(path)
        if (lost := counted - len(results)) > 0:
            skipped["answers that stats counts and results lack, such as those with NaN as a score"] += lost
        made = [row for result in _named(results, str(path)) for row in _ratings(result)]
        skipped["answers without an assertion"] += sum(not any(_ratings(one)) for one in _named(results, str(path)))
        skipped["named scores that an assertion's own code gave"] += sum(map(_own_scores, results))
        rows += made
    notes.append(f"annotator {JUDGE}: what its assertions gave; scores of an answer as a whole are not read")
    return ImportedTables(
        rows={"ratings": rows}, skipped={what: n for what, n in skipped.items() if n}, notes=tuple(notes)
    )


def _results(path: Path) -> tuple[Sequence[Mapping[str, Any]], int]:
    """Return the answers, and how many there were by the tool's own count."""
    from spa.importers.foreign_files import LIST, OBJECT, of_kind, whole
    from spa.tables.json_files import read_json

    whole_file = of_kind(OBJECT, read_json(path), str(path))
    run = of_kind(OBJECT, whole_file.get("results"), f"{path}, results")
    answers = of_kind(LIST, run.get("results"), f"{path}, results.results")
    stats = of_kind(OBJECT, run.get("stats") or {}, f"{path}, stats")
    counted = sum(whole(stats[name], f"{path}, stats, {name}") for name in COUNTED if name in stats)
    return answers, counted


def _named(results: Sequence[Any], place: str) -> Iterator[dict[str, Any]]:
    """Yield each answer with its place, system, item and, where one was asked for several times, sample."""
    from spa.importers.foreign_files import OBJECT, TEXT, of_kind, whole

    found = []
    for number, result in enumerate(results, start=1):
        at = f"{place}, results, {number}"
        of_kind(OBJECT, result, at)
        provider = of_kind(OBJECT, result.get("provider"), f"{at}, provider")
        prompt = of_kind(OBJECT, result.get("prompt"), f"{at}, prompt")
        label = of_kind(TEXT, provider.get("label") or provider.get("id"), f"{at}, provider")
        variables = of_kind(OBJECT, result.get("vars"), f"{at}, vars")
        found.append(
            {
                "result": result,
                "place": at,
                "provider": label,
                "prompt": of_kind(TEXT, prompt.get("label") or prompt.get("raw"), f"{at}, prompt"),
                "item": _item(variables),
                "test": whole(result.get("testIdx", "0"), f"{at}, testIdx"),
            }
        )
    several = len({one["prompt"] for one in found}) > 1
    tests: dict[tuple[str, str], set[int]] = defaultdict(set)
    for one in found:
        one["system"] = f"{one['provider']}, {one['prompt']}" if several else one["provider"]
        tests[one["system"], one["item"]].add(one["test"])
    repeated = any(len(own) > 1 for own in tests.values())
    for one in found:
        place_among = sorted(tests[one["system"], one["item"]]).index(one["test"])
        yield one | ({"sample": str(place_among + 1)} if repeated else {})


def _item(variables: Mapping[str, Any]) -> str:
    """Return the name of an item: its variables, or the text of the only one."""
    if len(variables) == 1:
        (only,) = variables.values()
        if isinstance(only, str) and only.strip():
            return only.strip()
    return json.dumps(variables, ensure_ascii=False, sort_keys=True)


def _ratings(named: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a rating for each assertion; of an answer that never came those that it would have had, missing."""
    from spa.importers.foreign_files import OBJECT, number, of_kind
    from spa.importers.tables import UNNAMED

    result, place = named["result"], named["place"]
    failed = str(result.get("failureReason")) == ERROR
    components = _listed(result, "gradingResult", "componentResults", place)
    asked = _asked(_listed(result, "testCase", "assert", place), place)
    times: Counter[str] = Counter()
    for one in [{"assertion": each} for each in asked] if failed else components:
        of_kind(OBJECT, one, f"{place}, componentResults")
        assertion = of_kind(OBJECT, one.get("assertion") or _set(one), f"{place}, assertion")
        name = str(assertion.get("metric") or assertion.get("type") or "assertion")
        times[name] += 1
        human = assertion.get("type") == HUMAN
        score = None if failed else number(one.get("score"), f"{place}, {name}")
        yield {
            "annotator_id": UNNAMED if human else JUDGE,
            "annotator_kind": "human" if human else "llm",
            "item_id": named["item"],
            "system": named["system"],
            "criterion": name if times[name] == 1 else f"{name} {times[name]}",
            "score": score,
            "missing_reason": "error" if failed else "no score" if score is None else None,
        } | ({"sample": named["sample"]} if "sample" in named else {})


def _own_scores(result: Mapping[str, Any]) -> int:
    """Return how many scores with names assertions gave besides their own, those of the parts of a set aside."""
    components = _listed(result, "gradingResult", "componentResults", "")
    own = [one for one in components if isinstance(one, dict) and one.get("assertion")]
    return sum(len(one["namedScores"]) for one in own if isinstance(one.get("namedScores"), dict))


def _set(component: Mapping[str, Any]) -> Any:
    """Return what a result of a set of assertions says of the set; it has no assertion of its own."""
    metadata = component.get("metadata")
    return (metadata.get("assertionSet") if isinstance(metadata, dict) else None) or {}


def _asked(assertions: Sequence[Any], place: str) -> list[Any]:
    """Return assertions in the order of their results: those of a set follow it."""
    from spa.importers.foreign_files import LIST, OBJECT, of_kind

    found = []
    for one in assertions:
        inside = of_kind(OBJECT, one, f"{place}, assert").get("assert") if one.get("type") == SET else None
        found += [one, *(of_kind(LIST, inside, f"{place}, assert") if inside else ())]
    return found


def _listed(result: Mapping[str, Any], name: str, inside: str, place: str) -> Sequence[Any]:
    """Return the list inside an object; nothing where one of the two is not there."""
    from spa.importers.foreign_files import LIST, OBJECT, of_kind

    whole: Mapping[str, Any] = of_kind(OBJECT, {} if result.get(name) is None else result[name], f"{place}, {name}")
    found = whole.get(inside)
    listed: Sequence[Any] = [] if found is None else of_kind(LIST, found, f"{place}, {inside}")
    return listed


FORMAT = AnswerFormat(
    key="promptfoo",
    description="Read results of promptfoo (eval -o results.json).\n\n"
    "FILE is its JSON file. A system is a provider, with the prompt where there are several; an item is its "
    "variables, a criterion a metric; further answers to the same variables are samples.",
    example="spa import promptfoo results.json --out tables",
    meaning=FileMeaning(
        missing="an answer with failureReason 2; a score of null",
        left_out="rows fewer than stats says are counted; total scores, which select-best sets to 0",
        seen="promptfoo 0.123.1",
        source="https://github.com/promptfoo/promptfoo",
    ),
    recognise=_recognise,
    read=_read,
)
