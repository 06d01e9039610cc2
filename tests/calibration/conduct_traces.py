"""Event traces of people who fill in one page, what the page's script would count of them, and how they are walked.

A trace is what pointer, keys and fingers do, with the seconds at which they do it. :func:`count` counts it as
``conduct.js`` does, so that a thousand traces need no browser; :func:`walk` lets Chromium do what a trace says.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from spa.records.form import Form, InterviewTarget, Page, Question
from spa.responses.conduct_evidence import PageConduct
from spa.widgets import TextAnswer
from tests.spa.web_forms import exhibits, instructions, likert

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

RATINGS = ("q2", "q3", "q4", "q5")
WRITTEN = "q6"
OPTIONS = 5
ASIDE = "Somebody looked at the lighthouse for a whole evening, and then wrote down what the keeper had said. "
TEXT = ASIDE * 6  # 108 words
WORDS = len(TEXT.split())
PASTED = "It kept me reading to the end, and the keeper was somebody I believed in."
SLOPE = 0.096  # seconds a bit: the floor of the page's script
AWAY = 2.0  # seconds
SET = """(control, text) => {
  if (control.type === "radio") control.click();
  else {
    control.value = text;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  }
}"""
CAP = 0.4  # seconds that a walk waits at most between two events: what is counted does not depend on longer ones

Kind = Literal["move", "press", "tap", "key", "paste", "leave", "set"]
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, width, height; CSS pixels
Layout = Mapping[str, Box]  # "q2/3": the label of an option; "q6": the box of a free text


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something done on a page, ``at`` so many seconds after it was opened."""

    at: float
    kind: Kind
    place: Point = (0.0, 0.0)
    control: str = ""  # what is pressed, tapped or written to, by its name in the layout
    answers: str = ""  # the question that is answered by it
    text: str = ""  # the key, or what is pasted
    seconds: float = 0.0  # for which the page is left


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """How somebody reads and points: by default as people in published measurements."""

    words_per_minute: float = 238.0  # silent reading (Brysbaert 2019, J. Mem. Lang. 109, 104047)
    reading_sd: float = 0.25  # of its logarithm
    bits_per_second: float = 4.3  # of a mouse (MacKenzie and Soukoreff 2003, CHI Extended Abstracts, 760-761)
    bits_sd: float = 0.2  # of its logarithm, between people, and again between movements
    deciding: float = 1.2  # seconds an answer, median
    deciding_sd: float = 0.5  # of its logarithm
    by: Literal["mouse", "touch", "keyboard", "voice"] = "mouse"  # voice: speech control, or a screen reader
    pastes: bool = False  # writes the text elsewhere
    leaves: float = 0.0  # chance of looking at something else before an answer
    longest: float = 40.0  # seconds of doing so, or of writing elsewhere
    hurried: bool = False  # answers without reading in between


def form_of_page() -> Form:
    """Build a form of two pages: instructions, and a text with four ratings and a free text."""
    question = Question(
        question_id=WRITTEN,
        text="What did you think?",
        answer=TextAnswer(required=False),
        target=InterviewTarget(interview_id="i"),
    )
    asked = tuple(likert(name, "A", OPTIONS) for name in RATINGS)
    page = Page(
        page_id="p2",
        kind="rating",
        audience="everybody",
        title="Rating",
        blocks=(exhibits(1, "A", TEXT), *asked, question),
    )
    return Form(
        assignment_id="a00001", title="Stories", language="en", right_to_left=False, pages=(instructions(), page)
    )


def usual_layout() -> Layout:
    """Return where the controls of the page stand in a window of 1280 by 1600 pixels, as Chromium shows it."""
    boxes = {
        f"{name}/{option}": (780.0, 190.0 + 330.0 * row + 48.0 * option, 420.0, 46.0)
        for row, name in enumerate(RATINGS)
        for option in range(OPTIONS)
    }
    return {**boxes, WRITTEN: (780.0, 1500.0, 420.0, 120.0)}


def trace(hand: Hand, layout: Layout, rng: np.random.Generator) -> list[Event]:
    """Let somebody read the text, rate it and write a sentence."""
    own = replace(hand, bits_per_second=hand.bits_per_second * float(np.exp(hand.bits_sd * rng.normal())))
    speed = hand.words_per_minute * float(np.exp(hand.reading_sd * rng.normal()))
    at, place = 60.0 * WORDS / speed, (640.0, 400.0)
    if hand.by == "mouse":
        place = (float(rng.uniform(100, 1200)), float(rng.uniform(100, 700)))
    events: list[Event] = []
    for name in RATINGS:
        if rng.random() < hand.leaves:
            away = float(rng.uniform(0.3, hand.longest))
            events.append(Event(at=at, kind="leave", seconds=away))
            at += away
        at += _deciding(hand, rng)
        given = _given(own, layout, f"{name}/{int(rng.integers(OPTIONS))}", at, place, rng)
        events += given
        at, place = events[-1].at, events[-1].place if hand.by == "mouse" else place
    events += _written(own, layout, at + _deciding(hand, rng), place, rng)
    return events


def _deciding(hand: Hand, rng: np.random.Generator) -> float:
    if hand.hurried:
        return float(rng.uniform(0.05, 0.3))
    return hand.deciding * float(np.exp(hand.deciding_sd * rng.normal()))


def _given(
    hand: Hand, layout: Layout, control: str, at: float, place: Point, rng: np.random.Generator
) -> Iterator[Event]:
    """Yield what gives an answer by one option."""
    question, option = control.split("/")
    aim = _inside(layout[control], rng)
    if hand.by == "touch":
        yield Event(at=at, kind="tap", place=aim, control=control, answers=question)
    elif hand.by == "voice":
        yield Event(at=at, kind="set", control=control, answers=question)
    elif hand.by == "keyboard":
        yield Event(at=at, kind="key", text="Tab", control=f"{question}/0")
        yield Event(at=at + 0.15, kind="key", text="Space", answers=question)
        for step in range(int(option)):
            yield Event(at=at + 0.3 + 0.12 * step, kind="key", text="ArrowDown")
    else:
        yield from _moved(hand, layout[control], aim, at, place, rng, control=control, answers=question)


def _moved(
    hand: Hand,
    box: Box,
    aim: Point,
    at: float,
    place: Point,
    rng: np.random.Generator,
    *,
    control: str,
    answers: str = "",
) -> Iterator[Event]:
    """Yield a movement of the mouse and a press: Fitts' law without a constant, as little as people need."""
    bits = math.log2(math.dist(place, aim) / min(box[2:]) + 1)
    took = bits / (hand.bits_per_second * float(np.exp(hand.bits_sd * rng.normal())))
    steps = max(int(60 * took), 1)
    for step in range(1, steps + 1):
        share = step / steps
        eased = share * share * (3 - 2 * share)  # slow at both ends
        point = tuple(start + eased * (end - start) for start, end in zip(place, aim, strict=True))
        yield Event(at=at + share * took, kind="move", place=(point[0], point[1]))
    yield Event(at=at + took + 0.05, kind="press", place=aim, control=control, answers=answers)


def _written(hand: Hand, layout: Layout, at: float, place: Point, rng: np.random.Generator) -> list[Event]:
    """Return how the free text gets its words."""
    if hand.by == "voice":
        return [Event(at=at, kind="set", control=WRITTEN, answers=WRITTEN, text=PASTED)]
    if hand.by == "keyboard":
        events = [Event(at=at, kind="key", text="Tab", control=WRITTEN)]
    elif hand.by == "touch":
        events = [Event(at=at, kind="tap", place=_inside(layout[WRITTEN], rng), control=WRITTEN)]
    else:
        aim = _inside(layout[WRITTEN], rng)
        events = [*_moved(hand, layout[WRITTEN], aim, at, place, rng, control=WRITTEN)]
    at = events[-1].at
    if hand.pastes:
        away = float(rng.uniform(AWAY + 0.3, hand.longest))
        pasted = Event(at=at + away + 1, kind="paste", control=WRITTEN, answers=WRITTEN, text=PASTED)
        return [*events, Event(at=at + 0.5, kind="leave", seconds=away), pasted]
    gaps = np.cumsum(rng.gamma(4.0, 0.06, size=12))
    typed = [Event(at=at + float(gap), kind="key", text="n") for gap in gaps]
    return [*events, replace(typed[0], answers=WRITTEN), *typed[1:]]


def _inside(box: Box, rng: np.random.Generator) -> Point:
    left, top, width, height = box
    return left + width * float(rng.uniform(0.1, 0.9)), top + height * float(rng.uniform(0.2, 0.8))


def count(events: Sequence[Event], layout: Layout, *, automated: bool = False) -> PageConduct:
    """Count a trace as the page's script does."""
    counts = dict.fromkeys(("pastes", "letters", "away", "moves", "touches", "keys"), 0)
    seconds, answered, unprompted, timed, fast = 0.0, set[str](), 0, 0, 0
    prompted, press, before = False, None, None
    for event in events:
        match event.kind:
            case "move" | "tap" | "key":
                counts[{"move": "moves", "tap": "touches", "key": "keys"}[event.kind]] += 1
                prompted = True
                press = press if event.kind == "move" else None
            case "press":
                prompted, press = True, event
            case "paste":
                counts["keys"] += 2  # Control and V
                counts["pastes"] += 1
                counts["letters"] += len(event.text)
                prompted, press = True, None
            case "leave":
                counts["away"] += event.seconds >= AWAY
                seconds += event.seconds if event.seconds >= AWAY else 0.0
        if event.answers and event.answers not in answered:
            answered.add(event.answers)
            unprompted += not prompted
            if press is not None and before is not None:
                timed += 1
                bits = math.log2(math.dist(press.place, before.place) / min(layout[press.control][2:]) + 1)
                fast += press.at - before.at < SLOPE * bits
            prompted, before, press = False, press, None
    return PageConduct(
        **counts,
        seconds=round(seconds, 2),
        answers=len(answered),
        unprompted=unprompted,
        timed=timed,
        fast=fast,
        automated=int(automated),
    )


def layout_of(tab: Tab) -> Layout:
    """Return where the controls of the page stand in a window."""
    found: dict[str, Box] = tab.evaluate(
        """(names) => Object.fromEntries(names.flatMap((name) =>
          [...document.querySelectorAll(`input[name=${name}], textarea[name=${name}]`)].map((input, place) => {
            const box = (input.closest("label") ?? input).getBoundingClientRect();
            return [input.type === "radio" ? `${name}/${place}` : name, [box.left, box.top, box.width, box.height]];
          })))""",
        [*RATINGS, WRITTEN],
    )
    return found


def walk(tab: Tab, events: Sequence[Event], *, cap: float = CAP) -> None:
    """Let a window do what a trace says, at its pace or slower; long waits are cut, absences last as long as they say.

    A key that moves the focus moves it to the control that the trace names, whatever else could have it.
    """
    due, now = time.monotonic(), 0.0
    for event in events:
        due, now = due + min(event.at - now, cap), event.at
        if (left := due - time.monotonic()) > 0:
            tab.wait_for_timeout(1000 * left)
        else:
            due -= left
        _do(tab, event)


def _do(tab: Tab, event: Event) -> None:
    match event.kind:
        case "move":
            tab.mouse.move(*event.place)
        case "press":
            tab.mouse.down()
            tab.mouse.up()
        case "tap":
            tab.touchscreen.tap(*event.place)
        case "key":
            tab.keyboard.press(event.text)
            if event.control:
                name, _, option = event.control.partition("/")
                tab.locator(f"[name={name}]").nth(int(option or 0)).focus()
        case "paste":
            tab.evaluate("(text) => navigator.clipboard.writeText(text)", event.text)
            tab.keyboard.press("Control+V")
        case "set":  # as the browser's interface for assistive technology does
            name, _, option = event.control.partition("/")
            tab.locator(f"[name={name}]").nth(int(option or 0)).evaluate(SET, event.text)
        case "leave":  # a window of this browser never loses the focus by itself
            tab.evaluate("() => { document.hasFocus = () => false; window.dispatchEvent(new Event('blur')); }")
            tab.wait_for_timeout(1000 * event.seconds)
            tab.evaluate("() => { delete document.hasFocus; window.dispatchEvent(new Event('focus')); }")
