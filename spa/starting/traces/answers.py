"""One answer per request, of systems and items that have names: what was taken, what was left out, what is in doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from spa.errors import TableError, shortened
from spa.starting.found import Answer, FoundOutputs, OpenQuestion
from spa.starting.traces.layout import SYSTEM_MESSAGE
from spa.starting.traces.requests import Request
from spa.starting.traces.systems import SystemPath, called, paths_of, same_names, system_path
from spa.starting.traces.turns import question

RECORDING = (  # "true" alone writes texts into logs beside the spans
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
)
LEFT_OUT = {  # kind of what was left out: what one is called, and several
    "inner": ("inner span", "inner spans"),
    "failed": ("failed try", "failed tries"),
    "fallbacks": (
        "fallback: an answer of a second system within one request",
        "fallbacks: answers of a second system within one request",
    ),
    "other": (
        "span that answers nobody, such as an embedding or a tool",
        "spans that answer nobody, such as embeddings and tools",
    ),
    "silent": ("span that holds no text", "spans that hold no text"),
    "twice": ("span that stands there twice", "spans that stand there twice"),
    "no text": ("answer without a text, such as a call of a tool", "answers without a text, such as calls of tools"),
    "choices": (
        "further choice of a request that asked for several",
        "further choices of requests that asked for several",
    ),
    "several systems": (
        "answer to which several systems contributed",
        "answers to which several systems contributed",
    ),
    "no system": ("answer of which no system is known", "answers of which no system is known"),
    "no prompt": ("answer without a prompt", "answers without a prompt"),
    "repeats": (
        "repeated answer of one system to one prompt",
        "repeated answers of one system to one prompt",
    ),
}


def left_out_lines(left: Mapping[str, int]) -> Iterable[str]:
    """Yield a line for each kind of what was left out."""
    for kind, (one, several) in LEFT_OUT.items():
        if count := left[kind]:
            yield f"{count:,} {one if count == 1 else several}"
    if count := left["traces without a root"]:
        traces, spans = "trace" if count == 1 else "traces", left["of those"]
        yield f"{count:,} {traces} without a root span ({spans:,} span{'s' * (spans > 1)}): sampled or cut off"


def nothing_answered(left: Mapping[str, int]) -> str:
    """Say what traces without any answer hold, and what to do."""
    lines = "; ".join(left_out_lines(left)) or "no request"
    advice = "; export whole traces, the root spans among them" if left["traces without a root"] else ""
    if left["silent"]:
        advice = f"; let the tool record texts in its spans, as OpenTelemetry does with {RECORDING}"
    return f"expected requests that were answered with a text, got none ({lines}){advice}"


SYSTEM, NAMES, REPEATS, FALLBACKS = "system", "same-names", "repeats", "fallbacks"  # keys of open questions
ONE, APART = ("one", "apart")
SAMPLES, FIRST, LAST = ("samples", "first", "last")
ALL = "all"
PATHS_NAMED, NAMES_SHOWN = 6, 6


@dataclass(kw_only=True)
class _Account:
    """What is said of the answers beside themselves."""

    took: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    asked: list[OpenQuestion] = field(default_factory=list)


def answers_of(
    requests: Sequence[Request], left: Counter[str], settled: Mapping[str, str], *, caveats: Iterable[str] = ()
) -> FoundOutputs:
    """Return the answers of some requests.

    Parameters
    ----------
    requests : sequence of Request
        Sorted.
    left : Counter of str
        What was left out before, by its kind.
    settled : mapping of str to str
        Answers to open questions, by their keys.

    Raises
    ------
    TableError
        Where nothing was answered, or nothing says which system did.
    """
    account = _Account(caveats=list(caveats))
    left["failed"] += sum(_failed(request) for request in requests)
    left["no text"] += sum(not request.answered and not _failed(request) for request in requests)
    kept = [request for request in requests if request.answered]
    left["choices"] += sum(request.made.further for request in kept)
    if not kept:
        raise TableError(nothing_answered(left))
    found = paths_of(kept)
    chosen = _system(kept, found, settled, account)
    names = _names(requests, chosen, settled, account)
    if SYSTEM not in settled:
        _ask_for_system(found, chosen, names, account)
    named = _named(kept, chosen, names, left)
    named = _without_fallbacks(named, requests, chosen, names, settled, left, account)
    items = _items(named, chosen, left, account)
    answers = _sampled(items, settled, left, account)
    _note_texts(kept, account)
    return FoundOutputs(
        answers=tuple(answers),
        took=tuple(account.took),
        left_out=tuple(left_out_lines(left)),
        caveats=tuple(account.caveats),
        asked=tuple(account.asked),
    )


def _failed(request: Request) -> bool:
    """Return whether a request failed: it says so, or nothing came back."""
    return (
        request.top.failed
        or request.top.made is None
        or (request.made.text is not None and not request.made.text.strip())
    )


def _system(
    requests: Sequence[Request], found: Sequence[SystemPath], settled: Mapping[str, str], account: _Account
) -> SystemPath:
    """Return what says which system answered."""
    if (path := settled.get(SYSTEM)) is not None:
        chosen = system_path(requests, path)
        if not chosen.names:
            listed = ", ".join(one.path for one in found[:PATHS_NAMED]) or "none"
            raise TableError(f"--system {path}: expected what names a system, got nothing there; there are: {listed}")
    elif found:
        chosen = found[0]
    else:
        chosen = _single(requests)
    account.took.append(f"system: {called(chosen.path)} ({_listed(chosen.names)})")
    if len(chosen.names) > 1 and not chosen.joined:
        account.caveats.append("no prompt was answered by two systems: outputs can be rated, systems not be paired")
    return chosen


def _ask_for_system(
    found: Sequence[SystemPath], chosen: SystemPath, names: Mapping[str, str], account: _Account
) -> None:
    """Ask where another path joins prompts as well, but says something else."""
    mine = chosen.called(names)
    rivals = [
        one for one in found if one.likely < 2 and one.joins and one.path != chosen.path and not one.says_as(mine)
    ]
    if rivals:
        listed = "; ".join(f"{one.path}: {_listed(one.names)}" for one in (mine, *rivals)[:PATHS_NAMED])
        wording = f"What says which system answered? {shortened(listed, 320)}"
        choices = tuple(one.path for one in (mine, *rivals))
        account.asked.append(OpenQuestion(key=SYSTEM, question=wording, choices=choices, default=chosen.path))


def _single(requests: Sequence[Request]) -> SystemPath:
    """Return a path where all requests name one system."""
    paths = dict.fromkeys(path for request in requests for path in request.top.tool.systems)
    for one in (system_path(requests, path) for path in paths):
        if len(one.names) == 1 and one.covered == 1:
            return one
    raise TableError(
        "expected what says which system answered (a model, metadata, a tag with 2 to 20 values), got none; "
        "name where it stands with --system PATH"
    )


def _listed(names: Mapping[str, int]) -> str:
    listed = ", ".join(f"{shortened(name, 40)} {count:,}" for name, count in list(names.items())[:NAMES_SHOWN])
    return listed + f", and {len(names) - NAMES_SHOWN} more" * (len(names) > NAMES_SHOWN)


def _names(
    requests: Sequence[Request], chosen: SystemPath, settled: Mapping[str, str], account: _Account
) -> Mapping[str, str]:
    """Return what systems with several names are called."""
    if chosen.path == SYSTEM_MESSAGE:
        return {}
    models: dict[str, set[str]] = {}
    for request in requests:
        if request.answered and len(says := request.named(chosen.path)) == 1:
            for path in request.top.tool.answered_by:
                models.setdefault(says[0], set()).update(request.named(path))
    found = same_names(chosen.names, {name: frozenset(group) for name, group in models.items()})
    if not found.same:
        return {}
    groups: dict[str, list[str]] = {}
    for name, bare in found.same.items():
        groups.setdefault(bare, []).append(name)
    listed = shortened("; ".join(" and ".join(group) for group in groups.values()), 240)
    answer = settled.get(NAMES, ONE if found.certain else None)
    if answer is None:
        wording = f"Is each of these one system? {listed}"
        account.asked.append(OpenQuestion(key=NAMES, question=wording, choices=(ONE, APART)))
        return {}
    if answer == APART:
        return {}
    why = " (the same model answered)" if found.certain else ""
    account.took.append(f"one system: {listed}{why}")
    return found.same


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """An answer whose system is known."""

    request: Request
    system: str
    prompt: str | None


def _named(
    requests: Iterable[Request], chosen: SystemPath, names: Mapping[str, str], left: Counter[str]
) -> list[_Named]:
    """Return the answers of which one system is known."""
    found = []
    for request in requests:
        values = request.named(chosen.path)
        if request.fell_back(chosen.path):
            left["fallbacks"] += 1
        elif not values:
            left["no system"] += 1
        elif len(values) > 1:
            left["several systems"] += 1
        else:
            prompt = request.prompt(chosen.path)
            found.append(_Named(request=request, system=names.get(values[0], values[0]), prompt=prompt))
    return found


def _without_fallbacks(
    found: Sequence[_Named],
    requests: Sequence[Request],
    chosen: SystemPath,
    names: Mapping[str, str],
    settled: Mapping[str, str],
    left: Counter[str],
    account: _Account,
) -> list[_Named]:
    """Return the answers without those that a second system gave within one trace, and earlier steps of the same."""
    tried: dict[tuple[str, str], list[tuple[Request, str | None]]] = {}
    for request in requests:
        asked = request.prompt(chosen.path) or request.item
        if request.top.trace is not None and asked is not None:
            values = request.named(chosen.path)
            system = names.get(values[0], values[0]) if values else None
            tried.setdefault((request.top.trace, asked), []).append((request, system))
    several = {key: group for key, group in tried.items() if len(group) > 1}
    if not several:
        return list(found)
    after_failure, second, steps = set[int](), set[int](), set[int]()
    for group in several.values():
        _, first_system = group[0]
        failed = not group[0][0].answered
        for request, system in group[1:]:
            if request.answered and system != first_system:
                (after_failure if failed else second).add(id(request))
        for system in {system for _, system in group}:
            own = [request for request, name in group if name == system and request.answered]
            steps |= {id(earlier) for earlier, later in pairwise(own) if _goes_on(earlier, later)}
    together = sum(len({id(request) for request, _ in group} & second) > 0 for group in several.values())
    drop = after_failure | steps
    answer = settled.get(FALLBACKS)
    if answer is None and second and 2 * together >= len({key[0] for key in tried}):
        wording = (
            f"{len(second):,} answers follow one of another system to the same prompt in one trace. Are they fallbacks "
            f"(take the {FIRST}), or were several systems asked (take {ALL})?"
        )
        account.asked.append(OpenQuestion(key=FALLBACKS, question=wording, choices=(FIRST, ALL)))
    elif answer != ALL:
        drop |= second
    kept = [one for one in found if id(one.request) not in drop]
    left["inner"] += sum(id(one.request) in steps for one in found)
    left["fallbacks"] += sum(id(one.request) in drop - steps for one in found)
    return kept


def _goes_on(earlier: Request, later: Request) -> bool:
    """Return whether a later call of a trace was given more turns of the same conversation: tools had been called."""
    before, after = earlier.turns, later.turns
    return before is not None and after is not None and len(after) > len(before) and after[: len(before)] == before


def _items(
    found: Sequence[_Named], chosen: SystemPath, left: Counter[str], account: _Account
) -> list[tuple[str, _Named]]:
    """Return the answers with their items: the ids that were given or, where they join fewer systems, the prompts."""
    by_id = [one.request.item for one in found]
    by_prompt = [one.prompt for one in found]
    differing = _differing(by_id, found)
    more = _joined(by_id, found) - _joined(by_prompt, found)
    if all(by_id) and (more > 0 or (more == 0 and not differing)):
        account.took.append(f"item: the ids that were given, {_many(len(set(by_id)), 'item')}")
        if differing:
            caveat = f"{_many(differing, 'item')} with more than one prompt: were their systems asked the same?"
            account.caveats.append(caveat)
        return [(str(name), one) for name, one in zip(by_id, found, strict=True)]
    kept = [one for one in found if one.prompt]
    left["no prompt"] += len(found) - len(kept)
    prompts = list(dict.fromkeys(one.prompt for one in kept))
    width = len(str(len(prompts)))
    names = {prompt: f"prompt-{number:0{width}}" for number, prompt in enumerate(prompts, start=1)}
    account.took.append(f"item: what was asked, {_many(len(prompts), 'prompt')}")
    return [(names[one.prompt], one) for one in kept]


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def _joined(keys: Sequence[str | None], found: Sequence[_Named]) -> float:
    """Return the share of items that more than one system answered."""
    systems: dict[str | None, set[str]] = {}
    for key, one in zip(keys, found, strict=True):
        if key is not None:
            systems.setdefault(key, set()).add(one.system)
    return sum(len(names) > 1 for names in systems.values()) / max(len(systems), 1)


def _differing(by_id: Sequence[str | None], found: Sequence[_Named]) -> int:
    """Return of how many items the prompts differ."""
    prompts: dict[str | None, set[str | None]] = {}
    for key, one in zip(by_id, found, strict=True):
        prompts.setdefault(key, set()).add(one.prompt)
    return sum(len(group) > 1 for group in prompts.values())


def _sampled(
    items: Sequence[tuple[str, _Named]], settled: Mapping[str, str], left: Counter[str], account: _Account
) -> list[Answer]:
    """Return the answers, several of one system to one item as the user settled; sorted by item and system."""
    cells: dict[tuple[str, str], list[_Named]] = {}
    order: dict[str, int] = {}
    for item, one in items:
        cells.setdefault((item, one.system), []).append(one)
        order.setdefault(item, len(order))
    several = {cell: group for cell, group in cells.items() if len(group) > 1}
    answer = settled.get(REPEATS)
    if several and answer is None:
        (item, system), group = next(iter(several.items()))
        further = sum(map(len, several.values())) - len(several)
        wording = (
            f"{further:,} answer{'s' * (further > 1)} beside another of the same system to the same prompt "
            f"({shortened(system, 40)}: {len(group)} to {shortened(repr(group[0].prompt or item), 80)}). "
            f"Take all, as {SAMPLES} of the system, or only the {FIRST}, or the {LAST}?"
        )
        account.asked.append(OpenQuestion(key=REPEATS, question=wording, choices=(SAMPLES, FIRST, LAST)))
    answers = []
    for (item, system), group in sorted(cells.items(), key=lambda cell: (order[cell[0][0]], cell[0][1])):
        kept = group[:1] if answer == FIRST else group[-1:] if answer == LAST else group
        left["repeats"] += len(group) - len(kept)
        for number, one in enumerate(kept, start=1):
            answers.append(
                Answer(
                    item=item,
                    system=system,
                    output=str(one.request.made.text),
                    prompt=one.prompt,
                    sample=str(number) if several and answer == SAMPLES else None,
                    place=one.request.top.place,
                )
            )
    return answers


def _note_texts(requests: Sequence[Request], account: _Account) -> None:
    """Say what the texts of prompts and outputs are."""
    tools = ", ".join(dict.fromkeys(request.top.tool.name for request in requests))
    account.took.insert(0, f"{tools}: one answer per request")
    longer = sum(len(question(request.turns or ())) > 1 for request in requests)
    if longer:
        account.took.append(f"prompt: {_many(longer, 'conversation')} with earlier turns as text")
    if instructed := sum(request.system_message is not None for request in requests):
        account.took.append(f"prompt: without the system message of {_many(instructed, 'request')}")
    if written := sum(request.made.as_json for request in requests):
        account.took.append(f"output: {_many(written, 'object')} as JSON")
