"""Which LLMs answered, with which settings, and what they read."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.answers.study_conduct import StudyRater
from analysis.figures.plain_text import shown_name
from analysis.methods.design import clips_of
from analysis.methods.sentences import Sentence, said
from analysis.printing.names import Names
from analysis.printing.words import listed, plural
from analysis.records.overview import Group
from analysis.records.results import Results

ASKED = {
    "form": "the whole form in one message",
    "page": "page by page in one conversation",
    "page_alone": "each page in a conversation of its own",
    "page_questions": "the questions of a page one after another in one conversation",
    "question": "each question in a conversation of its own",
}
ANSWERED = {
    "schema": "answers were JSON that a schema enforced",
    "json": "answers were asked for as JSON",
    "text": "answers were free text",
}
LOGIT = "answers are the probabilities that it gave to the answers offered"
READ_MORE = {
    "explain": "was asked to explain its ratings",
    "guidelines": "read guidelines",
    "reference": "read a reference output",
    "persona": "was given a persona",
    "item_notes": "read notes on the items",
    "examples": "read answered examples",
}


def llms(results: Results) -> Iterator[Sentence]:
    """Say which LLMs answered and how they were asked."""
    names = Names(results)
    groups = [row for row in results.groups if row.annotator_kind == "llm"]
    protocols = {row.group: row for row in results.study.raters} if results.study is not None else {}
    if groups and all(row.simulated for row in groups if not row.members):
        yield from said("No LLM was asked: a program answered the forms in its place", "groups.simulated")
        return
    for row in groups:
        if row.members:
            yield from said(
                f"{names.group(row.group)} puts the answers of {listed([*map(shown_name, row.members)])} together",
                "groups.members",
            )
        elif row.simulated:
            yield from said(
                f"The answers of {names.group(row.group)} were made by a program", "groups.group", "groups.simulated"
            )
        else:
            yield from _asked(row, protocols.get(row.group), names)
            yield from _sent(protocols.get(row.group), results)


def _asked(group: Group, asked: StudyRater | None, names: Names) -> Iterator[Sentence]:
    forms = f" {plural(group.assignments, 'form')}" if group.assignments else ""
    who = names.group(group.group)
    if asked is None:
        yield from said(f"{who} answered{forms}", "groups.group", "groups.annotator_kind", "groups.assignments")
    else:
        yield from _model(who, forms, asked)
        yield from _settings(who, asked)
    if group.form == "identical":
        yield from said(
            f"{who} read and was asked what the form for people says, word for word", "groups.group", "groups.form"
        )
    elif group.form == "variant":
        more = listed([READ_MORE[key] for key in asked.read_more if key in READ_MORE]) if asked else ""
        its = f": it {more}" if more else ""
        yield from said(
            f"{who} did not read exactly what the form for people says{its}",
            "groups.group",
            "groups.form",
            *(["study.raters.read_more"] if more else []),
        )
    if asked is not None and asked.persona:
        yield from said(f"The persona was \u201c{' '.join(asked.persona.split())}\u201d", "study.raters.persona")


def _sent(asked: StudyRater | None, results: Results) -> Iterator[Sentence]:
    """Say what an LLM was sent of each clip."""
    for key, files, facts in clips_of(results.study):
        if asked is None or files.models is None:
            continue
        if asked.frames_per_second is not None and files.models.frames is not None:
            pictures = f"{asked.frames_per_second:g} pictures a second, without its sound"
            yield from said(
                f"In the place of each {key} clip it was sent {pictures}", "study.raters.frames_per_second", *facts
            )
        elif files.models.sent:
            yield from said(f"Of each {key} clip it was sent {files.models.sent}", *facts)


def _model(who: str, forms: str, asked: StudyRater) -> Iterator[Sentence]:
    facts = ["groups.group", "groups.assignments", "study.raters.model"]
    model = shown_name(asked.model)
    others = [shown_name(name) for name in asked.answered_by if name != asked.model]
    named = f" (its endpoint answered as {listed(others)})" if others else ""
    facts += ["study.raters.answered_by"] if others else []
    dates = ""
    if asked.first_call is not None and asked.last_call is not None:
        one = asked.first_call == asked.last_call
        dates = f" on {asked.first_call} (UTC)" if one else f" from {asked.first_call} to {asked.last_call} (UTC)"
        facts += ["study.raters.first_call", "study.raters.last_call"]
    yield from said(f"{who} is the model {model}{named} and answered{forms}{dates}", *facts)


def _settings(who: str, asked: StudyRater) -> Iterator[Sentence]:
    given = {
        "temperature": ("temperature", asked.temperature),
        "top_p": ("top-p", asked.top_p),
        "seed": ("seed", asked.seed),
        "reasoning_effort": ("reasoning effort", asked.reasoning_effort),
    }
    shown = [
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in given.values()
        if value is not None
    ]
    facts = [f"study.raters.{key}" for key, (_, value) in given.items() if value is not None]
    if asked.token_limit is not None:
        shown.append(f"at most {asked.token_limit:,} tokens an answer")
        facts.append("study.raters.token_limit")
    if asked.temperature is None:
        shown.append("no temperature set")
        facts.append("study.raters.model")
    how = LOGIT if asked.readout == "logit" else ANSWERED[asked.answer_format]
    facts += ["study.raters.conversation", "study.raters.readout", "study.raters.answer_format"]
    yield from said(f"It was sent {ASKED[asked.conversation]} ({', '.join(shown)}); {how}", *facts)
    if asked.repeats > 1:
        yield from said(f"Each form was put to it {asked.repeats} times, each time afresh", "study.raters.repeats")
