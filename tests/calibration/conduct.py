"""What each sign of conduct catches; ``python -m tests.calibration.conduct --out FILE`` writes the table.

People are event traces, some of which are walked in Chromium; programs fill in the same page there, or post to it.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import numpy as np

from spa.records.form import ConductAsked
from spa.responses.conduct_evidence import PageConduct
from spa.responses.conduct_rows import FollowedPrograms, KnownConduct, conduct_of, followed_of
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from tests.browser.chromium import open_browser, open_context
from tests.browser.first_page import begin
from tests.browser.hand_made import HandMade
from tests.calibration.conduct_traces import (
    CAP,
    PASTED,
    RATINGS,
    WORDS,
    WRITTEN,
    Hand,
    count,
    form_of_page,
    layout_of,
    trace,
    usual_layout,
    walk,
)
from tests.reading_evidence import evidence_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

WINDOW = {"width": 1280, "height": 1700}
PEOPLE = {
    "mouse": Hand(),
    "mouse, in a hurry": Hand(hurried=True),
    "mouse, in a hurry, 7 bits a second": Hand(hurried=True, bits_per_second=7.0),
    "mouse, looks at something else": Hand(leaves=0.3),
    "mouse, writes elsewhere and pastes": Hand(pastes=True, longest=60.0),
    "finger": Hand(by="touch"),
    "keyboard": Hand(by="keyboard"),
    "speech control, some screen readers": Hand(by="voice"),
}
WORD = "lamplighter"
NOTHING_FOLLOWED = FollowedPrograms(honeypot=False, injected=False)
HIDDEN = "Object.defineProperty(navigator, 'webdriver', {get: () => false})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is known of one visit."""

    known: KnownConduct
    followed: FollowedPrograms = NOTHING_FOLLOWED


def _counted(name: str) -> Callable[[Shown], bool]:
    return lambda shown: shown.known.conduct is not None and getattr(shown.known.conduct, name) > 0


SIGNS: Mapping[str, Callable[[Shown], bool]] = {
    "pasted": _counted("pastes"),
    "away": _counted("away"),
    "unprompted": _counted("unprompted"),
    "fast": _counted("fast"),
    "automated": _counted("automated"),
    "honeypot": lambda shown: shown.followed.honeypot,
    "injected": lambda shown: shown.followed.injected,
    "no evidence": lambda shown: shown.known.known_by == "none",
}


@contextmanager
def survey(folder: Path) -> Iterator[tuple[HandMade, str]]:
    """Serve the page to one person; yield the study and the person's address."""
    made = HandMade(folder, form_of_page(), seconds_per_100_words=0.01)
    people = made.study.people.model_copy(update={"honeypot": True, "injected": WORD})
    made.study = made.study.model_copy(update={"people": people})
    with made.store, serve_on_loopback(create_app(made)) as url:
        yield made, f"{url}/a/{made.store.tokens()[0]}"


def open_page(tab: Tab, address: str) -> None:
    """Go to the page with the questions."""
    begin(tab, address)
    tab.check("#q1")
    tab.click(".next")
    tab.wait_for_url("**/p/p2")


def leave_page(tab: Tab) -> None:
    """Send the page with the questions, which is the last."""
    tab.locator(".next").evaluate("button => button.click()")
    tab.wait_for_url("**/done")


def evidence(made: HandMade) -> Shown:
    """Return what is known of how the page with the questions was filled in."""
    (lease,) = made.store.visits.leases()
    payloads = made.store.visits.payloads(lease.submission_id)
    followed = followed_of(form_of_page(), payloads, ConductAsked(counts=True, honeypot=True, injected=WORD))["p2"]
    return Shown(known=conduct_of(payloads, asked=True)["p2"], followed=followed)


def at_once(tab: Tab, number: int) -> None:
    """Fill in the page as a Playwright script does that waits for nothing."""
    for place, name in enumerate(RATINGS):
        tab.locator(f"input[name={name}]").nth((number + place) % 5).check()
    tab.locator(f"#{WRITTEN}").fill(PASTED)


def paced(tab: Tab, number: int) -> None:
    """Fill in the page with a person's movements and pauses."""
    walk(tab, trace(Hand(), layout_of(tab), np.random.default_rng(number)))


def hidden(tab: Tab, number: int) -> None:
    """Do the same in a browser that denies being controlled."""
    paced(tab, number)


def by_script(tab: Tab, number: int) -> None:
    """Set what is entered within the page."""
    tab.evaluate(
        """([names, written, text]) => {
          for (const input of names.map((name) => document.querySelector(`input[name=${name}]`))) {
            input.checked = true;
            input.dispatchEvent(new Event("change", { bubbles: true }));
          }
          const box = document.getElementById(written);
          box.value = text;
          box.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        [list(RATINGS), WRITTEN, PASTED],
    )


def follows_source(tab: Tab, number: int) -> None:
    """Obey what the page's source says to programs, at a person's pace and with the flag hidden."""
    paced(tab, number)
    if "tick this box" in tab.content():
        tab.locator("input[name=honeypot]").press("Space")  # a click does not reach it
    _write_word(tab, tab.content())


def follows_tree(tab: Tab, number: int) -> None:
    """Obey what the accessibility tree says to programs, which is also what a screen reader reads."""
    paced(tab, number)
    tree = tab.locator("body").aria_snapshot()
    if "tick this box" in tree:
        tab.get_by_role("checkbox", name="tick this box").check()
    _write_word(tab, tree)


def _write_word(tab: Tab, read: str) -> None:
    word = re.search("writes the word .(\\w+). into its answer", read)
    if word is not None:
        tab.locator(f"#{WRITTEN}").press_sequentially(f" {word[1]}")


PROGRAMS: Mapping[str, Callable[[Tab, int], None]] = {
    "Playwright, at once": at_once,
    "a script in the page": by_script,
    "Playwright, at a person's pace": paced,
    "the same, flag of the browser hidden": hidden,
    "the same, obeys the source of the page": follows_source,
    "the same, obeys the accessibility tree": follows_tree,
}


def visit(browser: Browser, folder: Path, fill_in: Callable[[Tab, int], None], number: int) -> Shown:
    """Let a program fill in the page in Chromium."""
    with survey(folder) as (made, address), open_context(browser, viewport=WINDOW) as context:
        if fill_in in (hidden, follows_source, follows_tree):
            context.add_init_script(HIDDEN)
        tab = context.new_page()
        open_page(tab, address)
        fill_in(tab, number)
        leave_page(tab)
        return evidence(made)


def post(folder: Path) -> Shown:
    """Send the page without a browser, with evidence of reading that a program made up."""
    with survey(folder) as (made, address), httpx2.Client(follow_redirects=True) as client:
        client.post(address)
        first, second = form_of_page().pages
        client.post(f"{address}/p/p1", data={"q1": "yes", **evidence_of(first)})
        client.post(
            f"{address}/p/p2", data={**dict.fromkeys(RATINGS, "3"), WRITTEN: PASTED, **_brief(evidence_of(second))}
        )
        return evidence(made)


def _brief(sent: dict[str, str]) -> dict[str, str]:
    """Say seconds that the server's clock does not refute."""
    return {name: text.replace("3600", "0.5") for name, text in sent.items()}


def walked(browser: Browser, folder: Path, hand: Hand, seed: int, *, cap: float = CAP) -> tuple[PageConduct, Shown]:
    """Walk a trace in Chromium; return what is counted of it here, and by the page's script."""
    with (
        survey(folder) as (made, address),
        open_context(browser, viewport=WINDOW, has_touch=hand.by == "touch") as context,
    ):
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.add_init_script(HIDDEN)
        tab = context.new_page()
        open_page(tab, address)
        layout = layout_of(tab)
        events = trace(replace(hand, longest=3.5), layout, np.random.default_rng(seed))
        walk(tab, events, cap=cap)
        leave_page(tab)
        return count(events, layout), evidence(made)


def agree(counted: PageConduct, shown: Shown) -> bool:
    """Tell whether the script counted what the trace holds; of movements, which a browser joins, no more than that."""
    found = shown.known.conduct
    if found is None or shown.known.known_by != "script" or not 0 <= found.moves <= counted.moves:
        return False
    near = abs(found.seconds - counted.seconds) <= 0.5 * max(counted.away, 1)
    return near and replace(found, moves=0, seconds=0.0) == replace(counted, moves=0, seconds=0.0)


def shares(found: Sequence[Shown]) -> list[float]:
    """Return the share of visits that show each sign."""
    return [sum(shows(one) for one in found) / len(found) for shows in SIGNS.values()]


def people(hand: Hand, number: int, rng: np.random.Generator) -> list[Shown]:
    """Simulate visits of one kind of people."""
    layout = usual_layout()
    return [
        Shown(known=KnownConduct(known_by="script", conduct=count(trace(hand, layout, own), layout)))
        for own in rng.spawn(number)
    ]


HEAD = """# Signs of conduct

How many visits show each [sign of conduct](../../docs/own-people.md#conduct) on a page with a text of {words} words,
four ratings and a free text (`make calibrate`, seed {seed}). None of them is a verdict.

People are {number:,} event traces a row, counted by the rules of the page's script: they read {speed:.0f} words a
minute (median; Brysbaert 2019) and move a mouse at {bits:g} bits a second (MacKenzie and Soukoreff 2003) without the
constant of Fitts' law, both with log-normal spread between people; in a hurry they answer 0.05 to 0.3 seconds after
the answer before, without reading. Of {walks} traces that Chromium walked, its script counted {agreed} as they were
counted here. Programs are {visits} visits a row in Chromium, or posts. Speech control and some screen readers set
answers without any key or pointer, which looks like a script in the page. Whether a model obeys what it reads is not
measured: the last two programs of a browser do.

| who fills in the page | {signs} |
| --- |{dashes}
"""
EVERY = tuple(PEOPLE.values())


def walks(number: int, seed: int) -> Iterator[bool]:
    """Walk traces of all kinds of people in Chromium; yield whether its script counts what they hold."""
    with open_browser() as browser:
        for place in range(number):
            with tempfile.TemporaryDirectory() as folder:
                hand = EVERY[place % len(EVERY)]
                yield agree(*walked(browser, Path(folder), hand, seed + place))


def programs(number: int, seed: int) -> Iterator[tuple[str, list[Shown]]]:
    """Let each kind of program fill in the page, or post to it."""
    with open_browser() as browser:
        for name, fill_in in PROGRAMS.items():
            found = []
            for place in range(number):
                with tempfile.TemporaryDirectory() as folder:
                    found.append(visit(browser, Path(folder), fill_in, seed + place))
            yield name, found
    found = []
    for _ in range(number):
        with tempfile.TemporaryDirectory() as folder:
            found.append(post(Path(folder)))
    yield "posts without a browser", found


def write(number: int, walked_traces: int, visits: int, seed: int) -> str:
    """Return the table."""
    rng, usual = np.random.default_rng(seed), Hand()
    lines = [(f"people: {name}", shares(people(hand, number, rng))) for name, hand in PEOPLE.items()]
    lines += [(f"program: {name}", shares(found)) for name, found in programs(visits, seed)]
    head = HEAD.format(
        words=WORDS,
        seed=seed,
        number=number,
        speed=usual.words_per_minute,
        bits=usual.bits_per_second,
        walks=walked_traces,
        agreed="all" if (agreed := sum(walks(walked_traces, seed))) == walked_traces else agreed,
        visits=visits,
        signs=" | ".join(SIGNS),
        dashes=" --- |" * len(SIGNS),
    )
    return head + "".join(f"| {name} | {_row(values)} |\n" for name, values in lines)


def _row(values: Sequence[float]) -> str:
    return " | ".join(f"{100 * value:.1f} %" for value in values)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.calibration.conduct", description=__doc__)
    parser.add_argument("--traces", type=int, default=1000, help="simulated people a row")
    parser.add_argument("--walks", type=int, default=20, help="traces walked in Chromium")
    parser.add_argument("--visits", type=int, default=3, help="visits a row of programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    given.out.write_text(write(given.traces, given.walks, given.visits, given.seed), encoding="utf-8")
