"""The same answers as each format of answers keeps them, and what is peculiar to a format."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

PEOPLE, ITEMS, SYSTEMS = ("Ana", "Bo", "Cleo"), ("s1", "s2", "s3", "s4"), ("alpha", "beta")
ANSWERS = {  # of whom, about which item, of which system: alpha is the better one
    (person, item, system): 5.0 - 2 * place - (number + place) % 2
    for number, item in enumerate(ITEMS)
    for person in PEOPLE
    for place, system in enumerate(SYSTEMS)
}
COMPARED = {  # who is better, by whom, about which item
    (person, item): "beta" if (person, item) == ("Bo", "s3") else "tie" if (person, item) == ("Cleo", "s4") else "alpha"
    for item in ITEMS
    for person in PEOPLE
}
SWAPPED: set[tuple[str, str]] = set()  # whose comparisons stand the other way round in a file
Written = tuple[Path, ...]  # what is imported, then the mapping if there is one


def compared() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield each comparison: who, item, the systems as they stand, and whether x, y or neither is better."""
    for who, item in seen():
        x, y = reversed(SYSTEMS) if (who, item) in SWAPPED else SYSTEMS
        better = COMPARED[who, item]
        yield who, item, x, y, "x" if better == x else "y" if better == y else "tie"


def lines_of(path: Path, objects: Iterable[object]) -> Path:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return path


def alpaca_eval(folder: Path) -> Written:
    """Write what stands at x as generator 2."""
    preferences = {"x": 2.0, "y": 1.0, "tie": 1.5}
    rows = [
        {
            "instruction": item,
            "output_1": "a",
            "generator_1": y,
            "output_2": "b",
            "generator_2": x,
            "annotator": who,
            "preference": preferences[winner],
            "preference_raw_completion": {"text": "m"},
        }
        for who, item, x, y, winner in compared()
    ]
    (folder / "annotations.json").write_text(json.dumps(rows, indent=2))
    return (folder / "annotations.json",)


def arena(folder: Path) -> Written:
    words = {"x": "model_a", "y": "model_b", "tie": "tie"}
    lines = ["question_id,model_a,model_b,winner,judge,tstamp"]
    lines += [f"{item},{x},{y},{words[winner]},{who},1.5" for who, item, x, y, winner in compared()]
    (folder / "battles.csv").write_text("\n".join(lines) + "\n")
    return (folder / "battles.csv",)


def arena_hard(folder: Path) -> Written:
    """Write what stands at y as the baseline; both games end alike."""
    games = {"x": ("B>A", "A>>B"), "y": ("A>B", "B>A"), "tie": ("A=B", "A=B")}
    return (
        lines_of(
            folder / "mine.jsonl",
            (
                {
                    "uid": item,
                    "judge": who,
                    "model": x,
                    "baseline": y,
                    "games": [{"score": one} for one in games[winner]],
                }
                for who, item, x, y, winner in compared()
            ),
        ),
    )


def judgearena(folder: Path) -> Written:
    lines, preferences = ["judge_completion,instruction_index,model_A,model_B,judge"], []
    for who, item, x, y, winner in compared():
        lines.append(f"..,{item},{x},{y},{who}")
        better = {"x": x, "y": y, "tie": "tie"}[winner]
        preferences.append({"alpha": 0.0, "beta": 1.0, "tie": 0.5}[better])
    (folder / "run-annotations.csv").write_text("\n".join(lines) + "\n")
    results = {"model_A": "alpha", "model_B": "beta", "preferences": preferences}
    (folder / "results-run.json").write_text(json.dumps(results))
    return (folder / "run-annotations.csv",)


def judge_bench(folder: Path) -> Written:
    """Write the scores of the first person, who has no name, with means that are no answers."""
    instances = [
        {
            "id": number,
            "instance": {"item_id": item, "system": system},
            "annotations": {"overall": {"mean_human": 1.0, "individual_human_scores": [score]}},
        }
        for number, ((who, item, system), score) in enumerate(ANSWERS.items())
        if who == PEOPLE[0]
    ]
    asked = [{"metric": "overall", "category": "graded", "prompt": "{{ instance }}", "worst": 1, "best": 5}]
    (folder / "data.json").write_text(json.dumps({"dataset": "d", "annotations": asked, "instances": instances}))
    return (folder / "data.json",)


def promptfoo(folder: Path) -> Written:
    """Write the scores of the first person as those of assertions."""
    results = [
        {
            "provider": {"id": "file://x.js", "label": system},
            "prompt": {"raw": item, "label": "{{q}}"},
            "vars": {"q": item},
            "testIdx": number,
            "failureReason": 0,
            "gradingResult": {
                "componentResults": [{"score": score, "assertion": {"type": "javascript", "metric": "overall"}}]
            },
        }
        for number, ((who, item, system), score) in enumerate(ANSWERS.items())
        if who == PEOPLE[0]
    ]
    run = {"version": 3, "prompts": [], "results": results, "stats": {"successes": len(results)}}
    (folder / "out.json").write_text(json.dumps({"evalId": "eval-1", "results": run, "config": {}}))
    return (folder / "out.json",)


def argilla(folder: Path) -> Written:
    """Write answers as to_datasets gives them, discarded ones of somebody else beside them."""
    records = [
        {
            **{"id": str(number), "item_id": item, "system": system},
            **{"overall.responses": [ANSWERS[who, item, system], 1], "overall.responses.users": [who, "Dan"]},
            "overall.responses.status": ["submitted", "discarded"],
        }
        for number, (who, item, system) in enumerate(ANSWERS)
    ]
    return (lines_of(folder / "dataset.jsonl", records),)


def doccano(folder: Path) -> Written:
    """Write an archive with a file for each person, in which one more example has no label."""
    with ZipFile(folder / "export.zip", "w") as archive:
        for who in PEOPLE:
            lines = [
                {
                    **{"id": number, "text": "An output.", "item": item, "system": of},
                    **{"label": [f"{score:g}"], "Comments": []},
                }
                for number, ((person, item, of), score) in enumerate(ANSWERS.items())
                if person == who
            ]
            lines.append({"id": 99, "text": "More.", "item": "s9", "system": "beta", "label": [], "Comments": []})
            archive.writestr(f"{who}.jsonl", "".join(f"{json.dumps(one)}\n" for one in lines))
    return (folder / "export.zip",)


def feedback(folder: Path) -> Written:
    """Write them as Pick-a-Pic has comparisons of pictures."""
    labels = {"x": (1.0, 0.0), "y": (0.0, 1.0), "tie": (0.5, 0.5)}
    rows = []
    for who, item, x, y, winner in compared():
        row: dict[str, Any] = {"caption": item, "user_id": who, "has_label": True}
        for place, (model, label) in enumerate(zip((x, y), labels[winner], strict=True)):
            row |= {f"model_{place}": model, f"label_{place}": label, f"image_{place}_uid": f"{item} {model}"}
        rows.append(row)
    return (lines_of(folder / "pickapic.jsonl", rows),)


def gradio(folder: Path) -> Written:
    """Write the answers of the first person as thumbs of nobody, a system a folder."""
    for system in SYSTEMS:
        lines = ["conversation,index,value,flag,timestamp"]
        for (who, item, of), score in ANSWERS.items():
            if (who, of) == (PEOPLE[0], system):
                said = json.dumps([{"role": "user", "content": item}, {"role": "assistant", "content": "x"}])
                lines.append(f'"{said.replace(chr(34), chr(34) * 2)}",1,{score:g},2026-11-01 10:00:00.5')
        (folder / "logs" / system).mkdir(parents=True, exist_ok=True)
        (folder / "logs" / system / "log.csv").write_text("\n".join(lines) + "\n")
    return (folder / "logs",)


def jspsych(folder: Path) -> Written:
    """Write the trials of all below each other, consent before, as JSON in a cell."""
    lines = ['"task","rt","response","trial_type","trial_index","time_elapsed","subject","item","system"']
    for who in PEOPLE:
        lines.append(f'"consent","90","0","html-button-response","0","93","{who}","",""')
        for number, ((person, item, system), score) in enumerate(ANSWERS.items(), start=1):
            if person == who:
                own = f'"{{""overall"":{score:g}}}","survey-likert","{number}","{number * 99}"'
                lines.append(f'"rate","98",{own},"{who}","{item}","{system}"')
    (folder / "trials.csv").write_text("\n".join(lines) + "\n")
    return (folder / "trials.csv",)


def label_studio(folder: Path) -> Written:
    """Write a task for each output, whose result an earlier one of the same person precedes."""
    times, tasks = {1.0: "2026-11-01T10:00:00.5Z", 0.0: "2026-11-01T09:00:00.5Z"}, []
    for item in ITEMS:
        for system in SYSTEMS:
            annotations = [
                {
                    **{"completed_by": who, "was_cancelled": False, "updated_at": updated, "lead_time": 2.5},
                    "result": [{"from_name": "overall", "type": "rating", "value": {"rating": score}}],
                }
                for who in PEOPLE
                for score, updated in ((ANSWERS[who, item, system], times[1.0]), (1, times[0.0]))
            ]
            data = {"item_id": item, "system": system}
            tasks.append({"id": len(tasks), "annotations": annotations, "data": data})
    (folder / "export.json").write_text(json.dumps(tasks))
    return (folder / "export.json",)


def qualtrics(folder: Path) -> Written:
    """Write a response of each person below three headers, the items as loops, and a preview."""
    columns = [f"{number}_{system}" for number, _ in enumerate(ITEMS, start=1) for system in SYSTEMS]
    head = ["Status", "Finished", "pid", *columns]
    ids = ",".join(f'"{{""ImportId"":""{name}""}}"' for name in head)
    lines = [
        ",".join(head),
        ",".join(f"text of {name}" for name in head),
        ids,
        ",".join(["1", "1", "Dan", *"11" * len(ITEMS)]),
    ]
    for who in PEOPLE:
        scores = [f"{ANSWERS[who, item, system]:g}" for item in ITEMS for system in SYSTEMS]
        lines.append(",".join(["0", "1", who, *scores]))
    (folder / "export.csv").write_text("\n".join(lines) + "\n")
    asked = [(number, item, system) for number, item in enumerate(ITEMS, start=1) for system in SYSTEMS]
    questions = [f'{{ column = "{n}_{system}", item = "{item}", system = "{system}" }}' for n, item, system in asked]
    (folder / "import.toml").write_text(f'annotator = "pid"\nquestions = [{", ".join(questions)}]\n')
    return folder / "export.csv", folder / "import.toml"


def otree(folder: Path) -> Written:
    """Write the wide export: a place for each person, a round for each item, a bot and a place that nobody opened."""
    rounds = [(number, item, system) for number, item in enumerate(ITEMS, start=1) for system in SYSTEMS]
    head = ["participant.code", "participant._is_bot", "participant._index_in_pages", "participant.visited"]
    head += ["session.is_demo", *(f"app.{number}.player.{system}" for number, _, system in rounds)]
    lines = [",".join(head), ",".join(["Dan", "1", "3", "1", "0", *"1" * len(rounds)])]
    lines.append(",".join(["Eve", "0", "0", "0", "0", *[""] * len(rounds)]))
    for who in PEOPLE:
        lines.append(",".join([who, "0", "3", "1", "0", *(f"{ANSWERS[who, item, of]:g}" for _, item, of in rounds)]))
    (folder / "wide.csv").write_text("\n".join(lines) + "\n")
    questions = [
        f'{{ column = "app.{number}.player.{system}", item = "{item}", system = "{system}" }}'
        for number, item, system in rounds
    ]
    (folder / "import.toml").write_text(f"questions = [{', '.join(questions)}]\n")
    return folder / "wide.csv", folder / "import.toml"


def esa(folder: Path) -> Written:
    """Write an export of Appraise: each document one segment."""
    lines = []
    for number, ((who, item, system), score) in enumerate(ANSWERS.items()):
        kind, document = "TGT,eng,deu", f"{item}#{system}"
        marks = json.dumps([{"start_i": 0, "end_i": 0, "severity": "minor"}] * int(5 - score)).replace('"', '""')
        lines += [f'{who},{system},{number},{kind},{score:g},{document},False,"{marks}",1.5,2.5']
        lines += [f"{who},{system},{number + 99},BAD,eng,deu,1,{document}#bad1,False,[],1.5,2.5"]
    (folder / "scores.csv").write_text("\n".join(lines) + "\n")
    return (folder / "scores.csv",)


def prolific(folder: Path) -> Written:
    """Write Task Builder's archive, a task for each output."""
    tasks: dict[tuple[str, str], dict[str, Any]] = {}
    for (who, item, system), score in ANSWERS.items():
        task = tasks.setdefault((item, system), {"dataset": {"item_id": item, "system": system}, "responses": []})
        answer = {"instruction_id": "q1", "type": "multiple_choice", "answer": [{"value": f"{score:g}"}]}
        task["responses"].append({"participant_id": who, "submission_id": f"of {who}", **answer})
    lines = [json.dumps({"task_id": str(number), **task}) for number, task in enumerate(tasks.values())]
    batch = {"id": "b", "instructions": [{"id": "q1", "type": "multiple_choice", "description": "overall"}]}
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.writestr("responses-by-task.jsonl", "\n".join(lines) + "\n")
        archive.writestr("batch.json", json.dumps(batch))
    return (folder / "export.zip",)


def inspect(folder: Path) -> Written:
    """Write a log for each system; the annotators are its scorers."""
    for system in SYSTEMS:
        samples = [
            {
                "id": item,
                "epoch": 1,
                "scores": {who: {"value": {"overall": ANSWERS[who, item, system]}} for who in PEOPLE},
            }
            for item in ITEMS
        ]
        described = {"eval_id": system, "task": "stories", "model": system}
        log = {"version": 2, "status": "success", "eval": described, "samples": samples}
        (folder / "logs").mkdir(exist_ok=True)
        (folder / "logs" / f"{system}.json").write_text(json.dumps(log))
    return (folder / "logs",)


def mqm(folder: Path) -> Written:
    """Write as many errors as points are missing to 5."""
    lines = ["system\tdoc\tdocSegId\trater\tsource\ttarget\tcategory\tseverity"]
    for (who, item, system), score in ANSWERS.items():
        row = f"{system}\t{item}\t1\t{who}\tEin Satz\t"
        errors = int(5 - score)
        lines += [f"{row}A <v>sentence</v>.\tFluency/Grammar\tMinor"] * errors
        lines += [f"{row}A sentence.\tNo-error\tNo-error"] * (errors == 0)
    (folder / "mqm.tsv").write_text("\n".join(lines) + "\n")
    return (folder / "mqm.tsv",)


def mlflow(folder: Path) -> Written:
    """Write a table of search_traces: a trace for each output, a run for each system; one value was corrected."""
    traces = []
    for (item, system), given in assessed().items():
        run = {"mlflow.sourceRun": system}
        trace = {"trace_id": f"tr-{item}-{system}", "request": item, "trace_metadata": run, "assessments": given}
        traces.append({**trace, "state": "OK", "request_time": 1795827235045})
    return (lines_of(folder / "traces.jsonl", traces),)


def assessed() -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for number, ((who, item, system), score) in enumerate(ANSWERS.items()):
        source = {"source_type": "HUMAN", "source_id": who}
        value: dict[str, Any] = {"assessment_id": f"a{number}", "assessment_name": "overall", "source": source}
        value |= {"feedback": {"value": 1 if number == 0 else score}, "valid": number > 0}
        found.setdefault((item, system), []).append(value)
        if number == 0:
            later = {"source_type": "CODE", "source_id": "default"}
            corrected = {"assessment_id": "later", "source": later, "overrides": "a0", "valid": True}
            found[item, system].append({**value, **corrected, "feedback": {"value": score}})
    return found


def phoenix(folder: Path) -> Written:
    """Write annotations, those of code among them, beside the spans that they are about."""
    outputs = [(item, system) for item in ITEMS for system in SYSTEMS]
    folder = folder / "phoenix"
    folder.mkdir(exist_ok=True)
    spans = [
        {
            **{"name": "answer", "span_kind": "LLM", "context.span_id": f"{item}{system}"},
            **{"attributes.llm.model_name": system, "attributes.input.value": item},
        }
        for item, system in outputs
    ]
    given = [(f"{item}{system}", who, "HUMAN", score) for (who, item, system), score in ANSWERS.items()]
    given += [(f"{item}{system}", "", "CODE", 80.0) for item, system in outputs]
    annotations = [
        {
            **{"span_id": span, "annotation_name": "overall", "annotator_kind": kind, "identifier": who},
            **{"result.label": None, "result.score": score, "created_at": "1", "updated_at": "1"},
        }
        for span, who, kind, score in given
    ]
    lines_of(folder / "spans.jsonl", spans)
    lines_of(folder / "annotations.jsonl", annotations)
    return (folder,)


def p808(folder: Path) -> Written:
    """Write the votes of each person, the system as the condition, and one of rejected work."""
    lines = ["HITId,workerid,assignment_id,assignmentstatus,file,short_file_name,vote,question_type,method"]
    for (who, item, system), score in ANSWERS.items():
        clip = f"{item}_{system}.wav"
        lines.append(f"H1,{who},A-{who},Submitted,https://host/clips/{clip},{clip},{score:g},MOS,{system}")
    lines.append("H1,Dan,A-Dan,Rejected,https://host/clips/s1_beta.wav,s1_beta.wav,5,MOS,beta")
    (folder / "batch_votes_per_worker_.csv").write_text("\n".join(lines) + "\n")
    return (folder / "batch_votes_per_worker_.csv",)


def surveyjs(folder: Path) -> Written:
    """Write responses, a matrix an item with a key a system, beside the survey's definition."""
    place = folder / "survey"
    place.mkdir(exist_ok=True)
    elements = [{"type": "matrix", "name": item, "columns": [1, 2, 3, 4, 5], "rows": [*SYSTEMS]} for item in ITEMS]
    elements.append({"type": "text", "name": "age", "inputType": "number"})
    (place / "survey.json").write_text(json.dumps({"pages": [{"name": "page1", "elements": elements}]}))
    responses = []
    for who in PEOPLE:
        scores = {item: {of: ANSWERS[who, item, of] for of in SYSTEMS} for item in ITEMS}
        responses.append({"PROLIFIC_PID": who, "age": 30, **scores})
    (place / "responses.json").write_text(json.dumps(responses))
    return (place / "responses.json",)


def webmushra(folder: Path) -> Written:
    lines = ["session_test_id,session_uuid,trial_id,rating_stimulus,rating_score,rating_time,rating_comment"]
    for who, item in seen():
        scores = {system: ANSWERS[who, item, system] for system in SYSTEMS} | {"reference": 100.0, "anchor35": 1.0}
        lines += [f"t,{who},{item},{stimulus},{score:g},9000," for stimulus, score in scores.items()]
    (folder / "mushra.csv").write_text("\n".join(lines) + "\n")
    return (folder / "mushra.csv",)


def csv(folder: Path) -> Written:
    lines = ["who,story,a,b"]
    lines += [f"{who},{item},{ANSWERS[who, item, 'alpha']},{ANSWERS[who, item, 'beta']}" for who, item in seen()]
    (folder / "sheet.csv").write_text("\n".join(lines) + "\n")
    (folder / "import.toml").write_text(
        'annotator = "who"\nitem = "story"\n'
        'questions = [{ column = "a", system = "alpha" }, { column = "b", system = "beta" }]\n'
    )
    return folder / "sheet.csv", folder / "import.toml"


def mturk(folder: Path) -> Written:
    lines = ["AssignmentId,WorkerId,AssignmentStatus,Input.story,Answer.a,Answer.b", "A99,Dan,Rejected,s1,1,5"]
    lines += [
        f"A{number},{who},Approved,{item},{ANSWERS[who, item, 'alpha']},{ANSWERS[who, item, 'beta']}"
        for number, (who, item) in enumerate(seen())
    ]
    (folder / "Batch_1.csv").write_text("\n".join(lines) + "\n")
    (folder / "old.toml").write_text(
        "".join(
            f'[[ratings]]\nitem_id = {{column = "Input.story"}}\nsystem = {{value = "{system}"}}\n'
            f'score = {{column = "Answer.{system[0]}"}}\n'
            for system in SYSTEMS
        )
    )
    return folder / "Batch_1.csv", folder / "old.toml"


def potato(folder: Path) -> Written:
    for who in PEOPLE:
        person = folder / "task" / "part" / "annotation_output" / who
        person.mkdir(parents=True, exist_ok=True)
        lines = []
        for item in ITEMS:
            scores = {system: f"{ANSWERS[who, item, system]:g}" for system in SYSTEMS}
            labels = {"overall": {f"scale_{scores['alpha']}": scores["alpha"]}, "overall_2": {scores["beta"]: "on"}}
            lines.append(json.dumps({"id": item, "label_annotations": labels}))
        (person / "annotated_instances.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "import.toml").write_text('systems = ["alpha", "beta"]\ncriteria = ["overall"]\n')
    return folder / "task", folder / "import.toml"


def tally(folder: Path) -> Written:
    lines = [f"{who} gave {system} {score:g} for {item}" for (who, item, system), score in ANSWERS.items()]
    (folder / "week.tally").write_text("# the first week\n" + "\n".join(lines) + "\n")
    return (folder / "week.tally",)


def seen() -> Iterator[tuple[str, str]]:
    yield from ((who, item) for item in ITEMS for who in PEOPLE)


TOY = "tally-sheets"
BY_COLUMNS = ("arena",)  # whose columns a report recognises by itself
MAPPED = ("csv", "mturk", "otree", "potato", "qualtrics")  # which need a file that says how names are read
SAMPLES: dict[str, Callable[[Path], Written]] = {
    "alpaca-eval": alpaca_eval,
    "arena": arena,
    "arena-hard": arena_hard,
    "argilla": argilla,
    "csv": csv,
    "doccano": doccano,
    "esa": esa,
    "feedback": feedback,
    "gradio": gradio,
    "inspect": inspect,
    "jspsych": jspsych,
    "judge-bench": judge_bench,
    "judgearena": judgearena,
    "label-studio": label_studio,
    "mlflow": mlflow,
    "mqm": mqm,
    "mturk": mturk,
    "otree": otree,
    "p808": p808,
    "phoenix": phoenix,
    "potato": potato,
    "prolific": prolific,
    "promptfoo": promptfoo,
    "qualtrics": qualtrics,
    "surveyjs": surveyjs,
    "webmushra": webmushra,
    TOY: tally,
}
ASKED: dict[str, tuple[str, ...]] = {  # what formats ask that no file of theirs says
    "p808": ("--item-pattern", r"(?P<item>s\d)_[a-z]+\.wav"),
    "surveyjs": ("--names", r"(?P<item>s\d)"),
}
COMPARING = {  # table of the formats that hold no ratings
    "alpaca-eval": "preferences",
    "arena": "choices",
    "arena-hard": "choices",
    "feedback": "choices",
    "judgearena": "preferences",
}
MARKING = ("mqm",)  # which hold marked errors alone
OF_LLMS = ("alpaca-eval", "arena-hard", "inspect", "judgearena")  # whose annotators keep their names
NAMELESS = ("gradio", "judge-bench", "promptfoo")  # whose files name nobody: the answers of one annotator
