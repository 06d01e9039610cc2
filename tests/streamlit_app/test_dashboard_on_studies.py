"""The dashboard on published outputs and ratings: every page opened, acted on, asserted and photographed."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.spa.scripted_server import Asked, Said, chat, http, schema_of, scripted
from tests.streamlit_app.answering import answer, typed
from tests.streamlit_app.conftest import Dashboard, started
from tests.streamlit_app.looking import choose, expect, newcomer, photograph, settled, turn_to, visit
from tests.test_real_studies import STORIES

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext
    from playwright.sync_api import Page as Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.one_process("dashboard-on-studies")]
RATERS = """
[[raters]]
id = "steady"
model = "steady-1"
base_url = "URL"

[[raters]]
id = "moody"
model = "moody-1"
base_url = "URL"
variants = [{id = "plain"}, {id = "warm", temperature = 0.7}]

[analysis]
"""
LLMS = ("Beluga-13B", "Llama-13B", "Mistral-7B")


def value_for(question: dict[str, Any], rng: random.Random) -> object:
    if "enum" in question:
        return rng.choice(question["enum"])
    return {"integer": rng.randint(30, 54), "boolean": True}.get(question["type"], "It reads well.")


class Models:
    """Two models that answer the form; moody-1 is overloaded or refuses now and then, in whatever way it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[float | None] = Counter()  # how often moody-1 was, by temperature

    def answer(self, asked: Asked) -> Said:
        """Answer one request."""
        if "response_format" not in asked.body:
            return http(chat("ready"))
        if asked.body["model"] == "moody-1":
            way = asked.body.get("temperature")
            self.asked[way] += 1
            if self.asked[way] % 23 == 0:
                return http({"error": {"message": "overloaded"}}, status=503)
            if self.asked[way] % 11 == 0:
                return http(chat("As an AI I do not rate stories."))
        return answers(asked)


def answers(asked: Asked) -> Said:
    rng = random.Random(asked.number)
    values = {name: value_for(kind, rng) for name, kind in schema_of(asked.body)["properties"].items()}
    return http(chat(json.dumps(values)))


@pytest.fixture(scope="module")
def stories(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the GPT-3 study as 30 simulated people and two raters have answered it."""
    study = tmp_path_factory.mktemp("stories") / "study.toml"
    with scripted(Models().answer) as served:
        before, _, rest = STORIES.format(outputs=shared_data / "spa_gpt3" / "stories.jsonl").partition("[[raters]]")
        text = before + RATERS.replace("URL", served.url) + rest.partition("[analysis]")[2]
        study.write_text(text.replace("annotators = 90", "annotators = 30"))
        rated = (["rate", str(study), "--rater", rater] for rater in ("steady", "moody"))
        typed(["build", str(study)], *rated)
    answer(study, 30)
    return study


@pytest.fixture(scope="module")
def dashboard(stories: Path) -> Iterator[Dashboard]:
    with started(stories, "--reviewer", "Ana") as running:
        yield running


@pytest.fixture
def screen(context: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Tab]:
    width, scheme = request.param
    page = newcomer(context, width, 1100)
    page.emulate_media(color_scheme=scheme)
    yield page
    page.close()


@pytest.fixture(scope="module")
def opened(context: BrowserContext, dashboard: Dashboard) -> Iterator[Tab]:
    """Return the page on systems, opened once: its parts are chosen on it, and other pages are turned to."""
    page = context.new_page()
    visit(page, dashboard, "systems")
    yield page
    page.close()


@pytest.mark.parametrize("screen", [(1280, "light"), (820, "dark")], indirect=True, ids=["desk", "tablet-in-the-dark"])
def test_the_stories_are_watched_reviewed_and_understood(screen: Tab, dashboard: Dashboard, tmp_path: Path) -> None:
    visit(screen, dashboard, "")
    expect(screen.get_by_text("30 of 30")).to_be_visible()
    expect(screen.get_by_role("heading", name="Raters")).to_be_visible()
    drawn = screen.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg")
    expect(drawn).to_have_count(1)  # what was handed in; simulated annotators have no pay an hour to draw
    photograph(screen, tmp_path / "overview.png")

    ground = screen.locator("[data-testid=stApp]").evaluate("page => getComputedStyle(page).backgroundColor")
    dark = screen.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 150) == dark

    turn_to(screen, "submissions")
    expect(screen.frame_locator("iframe").first.get_by_role("heading").first).to_be_visible()
    expect(screen.get_by_text("Compared with the others")).to_be_visible()
    screen.get_by_role("button", name="Next").click()
    expect(screen.get_by_text("2 of 30")).to_be_visible()
    photograph(screen, tmp_path / "submission.png")

    turn_to(screen, "annotators")
    expect(screen.get_by_text("Show the distribution of")).to_be_visible()
    photograph(screen, tmp_path / "annotators.png")

    turn_to(screen, "plan")
    expect(screen.get_by_text("Annotators for 80")).to_be_visible()
    photograph(screen, tmp_path / "plan.png")


@pytest.mark.parametrize(
    ("part", "seen"),
    [
        ("Answer", "human"),
        ("Preferences", "Mean chance that the first system of a pair is better"),
        ("Ratings", "How the ratings are spread"),
        ("Strengths", "Bradley-Terry"),
        ("Agreement", "Do the raters agree?"),
        ("All pairs", "the row's system is better than the column's"),
        ("Exclusions", "Planned bound"),
        ("Where they disagree", "First item to show"),
    ],
)
def test_people_and_raters_stand_side_by_side(opened: Tab, part: str, seen: str, tmp_path: Path) -> None:
    choose(opened, part)
    expect(opened.get_by_text(seen).first).to_be_visible()
    if part == "Preferences":
        for group in ("simulated annotators", "steady (LLM)", "moody/warm (LLM)"):
            expect(opened.get_by_role("cell", name=group).first).to_be_visible()
    if part == "Where they disagree":
        expect(opened.get_by_text("(n = 1)").first).to_be_visible()
        expect(opened.get_by_text("include annotators who are excluded")).to_be_visible()
    photograph(opened, tmp_path / "systems.png")


def test_what_raters_failed_at_can_be_read(opened: Tab, tmp_path: Path) -> None:
    turn_to(opened, "raters")
    expect(opened.get_by_text("LLM raters side by side")).to_be_visible()
    expect(opened.get_by_role("cell", name="moody/warm").first).to_be_visible()
    photograph(opened, tmp_path / "raters.png")
    choose(opened, "Calls and raw answers")
    opened.get_by_role("combobox", name="Rater").click()
    opened.get_by_role("option", name="moody/plain").click()
    expect(opened.get_by_role("heading", name="moody/plain")).to_be_visible()
    settled(opened)  # the outcomes to choose from are those of this rater
    opened.get_by_role("combobox", name="Outcome").click()
    unreadable = opened.get_by_role("option", name="unreadable")
    calls = int("".join(filter(str.isdigit, unreadable.inner_text())))
    unreadable.click()
    table = opened.locator("[data-testid=stDataFrame] table").first
    expect(table).to_have_attribute("aria-rowcount", str(calls + 1))
    settled(opened)
    opened.locator("[data-testid=stDataFrame]").first.click(position={"x": 16, "y": 52})
    expect(opened.locator("code").filter(has_text="As an AI I do not rate stories.")).to_be_visible()
    photograph(opened, tmp_path / "call.png")


def test_the_report_is_taken_away_with_its_datasheet(opened: Tab, tmp_path: Path) -> None:
    turn_to(opened, "report")
    settled(opened)  # a click while the page is drawn is lost
    with opened.expect_download() as waiting:
        opened.get_by_role("button", name="Results (JSON)").click()
    waiting.value.save_as(tmp_path / "results.json")
    results = json.loads((tmp_path / "results.json").read_text())
    groups = {row["group"] for row in results["preferences"]}
    assert groups == {"simulated", "steady", "moody/plain", "moody/warm"}
    photograph(opened, tmp_path / "report.png")


def test_the_first_page_is_found_by_its_name(tab: Tab, dashboard: Dashboard) -> None:
    visit(tab, dashboard, "overview")
    expect(tab.get_by_text("30 of 30")).to_be_visible()


def test_published_ratings_are_shown_as_they_were_downloaded(tab: Tab, shared_data: Path, tmp_path: Path) -> None:
    downloaded = pl.read_csv(shared_data / "hanna" / "ratings.csv", infer_schema_length=None)
    people = downloaded.filter(pl.col("rater").str.starts_with("human") | pl.col("rater").is_in(LLMS))
    (tmp_path / "hanna").mkdir()
    people.with_columns(pl.col("story_id") % 96).filter(pl.col("story_id") < 12).write_csv(
        tmp_path / "hanna" / "ratings.csv"
    )
    columns = {"story_id": "item_id", "rater": "annotator_id", "eval_prompt": "variant"}
    options = [word for theirs, ours in columns.items() for word in ("--map", f"{theirs}={ours}")]
    options += [word for llm in LLMS for word in ("--llm", llm)]
    with started(None, "--tables", str(tmp_path / "hanna"), *options) as running:
        visit(tab, running, "systems")
        choose(tab, "Ratings")
        expect(tab.get_by_role("cell", name="BertGeneration").first).to_be_visible()
        photograph(tab, tmp_path / "ratings.png")
        choose(tab, "Agreement")
        expect(tab.get_by_text("Every two raters compared")).to_be_visible()
        photograph(tab, tmp_path / "agreement.png")
        turn_to(tab, "raters")
        expect(tab.get_by_text("Mistral-7B").first).to_be_visible()
        photograph(tab, tmp_path / "raters.png")
