"""What raters cost: prices, budgets that hold across runs and kills, and estimates that the run confirms."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spa.errors import StudyError
from spa.raters import capabilities, estimate, visits
from spa.raters.budget import Price, RaterBudget, load_prices, token_range, tokens_of
from spa.raters.endpoints.endpoint import LLMReply
from spa.raters.estimate import spent_before
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import Asked, Said, http, middle, scripted
from tests.spa.tiny_images import tiny_png

PRICES = '[models."simulated-rater"]\ninput = 100\noutput = 200\n'


def test_cached_tokens_and_batch_files_are_cheaper() -> None:
    price = Price(input=2.0, output=8.0, cached_input=0.5, batch_factor=0.5)
    assert price.cost(1_000_000, 500_000) == 6.0
    assert price.cost(1_000_000, 500_000, cached=1_000_000) == 4.5
    assert price.cost(1_000_000, 500_000, batch=True) == 3.0


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 500)), max_size=40), st.floats(0.01, 2))
def test_budget_is_never_exceeded(requests: list[tuple[int, int]], budget: float) -> None:
    """No more is spent than the budget where estimates are not too low."""
    rater_budget = RaterBudget(Price(input=100, output=200), budget=budget)
    for prompt, completion in requests:
        expected = rater_budget.reserve(prompt, completion)
        if expected is not None:
            rater_budget.pay(expected, LLMReply(outcome="answered", prompt_tokens=prompt, completion_tokens=completion))
        assert rater_budget.spent <= budget + 1e-9


def test_what_is_under_way_is_set_aside() -> None:
    rater_budget = RaterBudget(Price(input=1_000_000, output=0), budget=10)
    first = rater_budget.reserve(6, 0)
    assert first == 6
    assert rater_budget.reserve(6, 0) is None
    rater_budget.pay(first, LLMReply(outcome="http_500"))
    assert rater_budget.spent == 0
    again = rater_budget.reserve(6, 0)
    assert again == 6
    assert (
        rater_budget.pay(again, LLMReply(outcome="answered"))["cost"] == 6
    )  # no usage: what was expected counts as spent
    assert rater_budget.spent == 6


def test_costs_are_those_of_what_a_reply_may_have_read() -> None:
    """No token is read and written at once, whatever the endpoint says; a refusal is paid for; so is a probe."""
    rater_budget = RaterBudget(Price(input=1_000_000, output=0, cached_input=0, cache_write=2_000_000))
    said = LLMReply(outcome="answered", prompt_tokens=6, completion_tokens=0, cached_tokens=4, cache_write_tokens=9)
    assert rater_budget.pay(0, said)["cost"] == 4  # two tokens, written
    refused = LLMReply(outcome="refused", prompt_tokens=3, completion_tokens=0)
    assert rater_budget.pay(0, refused)["cost"] == 3
    calls = {
        visits.KIND: [("judge/f1", "", {"cost": 1.0}), ("judge2/f1", "", {"cost": 8.0}), ("judge/f2", "", {})],
        capabilities.KIND: [("judge/probe", "", {"cost": 0.5})],
    }
    assert spent_before(SimpleNamespace(facts=calls.__getitem__), "judge") == 1.5  # type: ignore[arg-type]


def test_a_budget_needs_a_price() -> None:
    with pytest.raises(StudyError, match="expected the price of the model"):
        RaterBudget(None, budget=5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models.x]\ninput = -1\noutput = 1\n", "models.x.input"),
        ("[models.x]\ninput = 1\n", "models.x.output"),
        ("currency = 'dollars'\n", "currency"),
        ("[models.x\n", "expected TOML"),
    ],
)
def test_a_mistake_in_the_price_table_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "prices.toml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=said):
        load_prices(None, tmp_path / "study.toml")


def test_tokens_are_counted_by_script_and_image() -> None:
    assert tokens_of([{"content": "a" * 400}]) == 100
    assert tokens_of([{"content": "漢" * 400}]) == 400
    url = f"data:image/png;base64,{base64.b64encode(tiny_png()).decode()}"
    image = [{"type": "text", "text": ""}, {"type": "image_url", "image_url": {"url": url}}]
    assert token_range([{"content": image}], "qwen2.5-vl") == (4, 4)
    fewest, most = token_range([{"content": image}], "a model that nobody knows")
    assert fewest < 10 < 2000 < most == tokens_of([{"content": image}])


def test_an_estimate_comes_true_and_asks_nothing(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=3)
    study.with_name("prices.toml").write_text(PRICES, encoding="utf-8")
    told = json.loads(spa("rate", study, "--dry-run", "--json").output)
    rated = json.loads(spa("rate", study, "--simulate", "--json").output)
    assert (told["visits"], told["requests"]) == (3, rated["requests"])
    assert told["prompt_tokens"] == pytest.approx(rated["prompt_tokens"], rel=0.1)
    assert told["cost"] == pytest.approx(rated["cost"], rel=0.25)
    after = json.loads(spa("rate", study, "--simulate", "--dry-run", "--json").output)
    assert (after["finished"], after["requests"], after["cost"]) == (3, 0, 0)
    assert after["spent"] == pytest.approx(rated["cost"])
    real = json.loads(spa("rate", study, "--dry-run", "--json").output)
    assert (real["finished"], real["spent"], real["cost"]) == (0, 0, told["cost"])  # a rehearsal takes nothing of it
    shown = spa("rate", study, "--simulate", "--dry-run").output
    assert "3 forms to answer, 3 already answered" in shown
    assert "earlier runs cost " in shown


def test_a_budget_holds_across_runs(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=4)
    study.with_name("prices.toml").write_text(PRICES, encoding="utf-8")
    one = json.loads(spa("rate", study, "--dry-run", "--json", "--limit", 1).output)["cost"]
    budget = round(2.6 * one, 6)
    spent = 0.0
    for _ in range(2):
        shown = spa("rate", study, "--simulate", "--json", "--budget", budget, code=1).output
        told = json.loads(shown[: shown.rindex("}") + 1])
        assert "could pass the budget" in told["problem"]
        spent += told["cost"] or 0.0
    assert 0 < spent <= budget
    assert "cost unknown" in spa("rate", study, "--dry-run", "--prices", empty(tmp_path)).output
    refused = spa("rate", study, "--simulate", "--budget", 5, "--prices", empty(tmp_path), code=1).output
    assert "expected the price of the model" in refused


def test_budget_line_without_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of a budget tells what was spent also without usage."""

    def answer(asked: Asked) -> Said:
        if asked.number % 2:  # the budget is reached while this one is under way
            time.sleep(0.2)
        return http({**middle(asked), "usage": None} if "usage" not in says else middle(asked))

    study = built_example(tmp_path, annotators=6)
    study.with_name("prices.toml").write_text('[models."m"]\ninput = 100\noutput = 100\n', encoding="utf-8")
    dry = ("rate", study, "--rater", "simulated-rater", "--dry-run", "--json", "--limit", 5)
    of_all = json.loads(spa(*dry).output)["requests"]
    monkeypatch.setattr(estimate, "SAMPLE", 2)  # every second form of five, which are three
    assert json.loads(spa(*dry).output)["requests"] == of_all
    for says in ("usage", ""):
        with scripted(answer) as server:
            rater = tmp_path / f"judge{says}.toml"
            rater.write_text(f'id = "judge{says}"\nmodel = "m"\nbase_url = "{server.url}"\nconcurrency = 4\n')
            told = json.loads(spa("rate", study, "--rater", rater, "--dry-run", "--json", "--limit", 1).output)
            spent = 0.0
            for part in (2.5, 3.5):
                budget = round(part * told["cost"], 6)
                shown = spa("rate", study, "--rater", rater, "--json", "--no-probe", "--budget", budget, code=1).output
                run = json.loads(shown[: shown.rindex("}") + 1])
                spent += run["cost"] or 0.0
                assert f"({spent:.6g} is spent, {run['cost'] or 0:.6g} of it by this run)" in run["problem"]
            assert json.loads(spa("rate", study, "--rater", rater, "--dry-run", "--json").output)[
                "spent"
            ] == pytest.approx(spent)


def test_dear_dry_run_says_so_before_anything_else(tmp_path: Path) -> None:
    """Above 50 dollars; a run of cents says nothing of it."""
    study = built_example(tmp_path, annotators=2)
    rater = tmp_path / "judge.toml"
    rater.write_text('id = "judge"\nmodel = "m"\n', encoding="utf-8")
    for price, told in ((100_000, True), (1, False)):
        prices = f'[models."m"]\ninput = {price}\noutput = {price}\n'
        study.with_name("prices.toml").write_text(prices, encoding="utf-8")
        shown = spa("rate", study, "--rater", rater, "--dry-run").output
        assert shown.startswith("This run may cost ") == told
        assert ("set --budget first" in shown) == told


def empty(folder: Path) -> Path:
    path = folder / "none.toml"
    path.write_text("", encoding="utf-8")
    return path
