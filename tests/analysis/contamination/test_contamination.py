"""``spa contamination``: scores against a plain computation, intervals and thresholds by simulation, a taught model."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import norm

from analysis.answers.study_texts import StudyText
from analysis.contamination.results import contamination, scored_texts
from analysis.contamination.scores import auc, calibrated_threshold, familiarity_scores, min_k_plus_plus
from spa.cli import main
from spa.errors import PlatformError
from spa.raters.local.model_folder import LoadedModel, load_model
from spa.raters.local.token_statistics import token_statistics
from spa.records.raters import Rater
from tests.spa import tiny_models
from tests.spa.tiny_models import models as models

pytestmark = [
    pytest.mark.one_process("models"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
TEXTS = ("ab", "A lamp at sea.", "The ship that nobody had counted came back at night. " * 3, "\u0641\u064a <b>x</b>")


@pytest.fixture(scope="module")
def folder(models: Path) -> Path:
    return tiny_models.tiny_llama(models / "scored")


def loaded(folder: Path, *, float64: bool) -> LoadedModel:
    return load_model(Rater(id="m", model=str(folder), provider="local"), Path(), float64=float64)


def plain(folder: Path, text: str, dtype: Any) -> dict[str, float]:
    """Score one text as the authors' published programs do, without any of the code under test."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    ids = torch.tensor([AutoTokenizer.from_pretrained(folder)(text)["input_ids"]])
    with torch.no_grad():
        logs = torch.log_softmax(model(ids).logits[0, :-1], -1)
    own = logs.gather(-1, ids[0, 1:, None])[:, 0]
    means = (logs.exp() * logs).sum(-1)
    sd = ((logs.exp() * logs.square()).sum(-1) - means.square()).sqrt()
    size = max(1, int(len(own) * 0.2))
    return {
        "min_k": own.sort().values[:size].mean().item(),
        "min_k_plus_plus": ((own - means) / sd).sort().values[:size].mean().item(),
        "log_likelihood": own.mean().item(),
        "perplexity": (-own.mean()).exp().item(),
        "zlib_ratio": own.mean().item() / len(zlib.compress(text.encode())),
    }


@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-9), ("float32", 1e-4)])
def test_scores_are_those_of_a_plain_computation_batched_or_not(folder: Path, dtype: str, close: float) -> None:
    import torch

    model = loaded(folder, float64=dtype == "float64")
    for batched in (True, False):
        for text, one in zip(TEXTS, token_statistics(model, TEXTS, batched=batched), strict=True):
            assert one is not None
            found = familiarity_scores(text, one.log_probabilities, one.means, one.variances)
            expected = plain(folder, text, getattr(torch, dtype))
            assert {name: getattr(found, name) for name in expected} == pytest.approx(expected, rel=close, abs=close)


def test_contamination_long_text_windows(folder: Path) -> None:
    """A long text is read in windows and every token scored once."""
    model = loaded(folder, float64=True)
    text = TEXTS[2]  # 159 bytes, each a token
    (whole,), (parts,) = token_statistics(model, [text]), token_statistics(model, [text], window=40)
    assert whole is not None
    assert parts is not None
    assert (whole.windows, parts.windows) == (1, 7)
    assert len(parts.log_probabilities) == len(whole.log_probabilities) == len(text) - 1
    assert parts.log_probabilities[:39] == pytest.approx(whole.log_probabilities[:39], abs=1e-9)
    (second,) = token_statistics(model, [text[20:60]])
    assert second is not None
    assert parts.log_probabilities[39:59] == pytest.approx(second.log_probabilities[19:], abs=1e-9)
    assert token_statistics(model, ["a", ""]) == [None, None]
    with pytest.raises(PlatformError, match="at most the 65536 tokens"):
        token_statistics(model, ["ab"], window=70_000)


def test_a_certain_model_counts_nothing() -> None:
    assert min_k_plus_plus(np.array([0.0, -3.0]), np.array([0.0, -1.0]), np.array([0.0, 4.0]), share=0.9) == -1.0


def test_auc_and_its_interval() -> None:
    """The area is the share of pairs and its interval covers the truth."""
    rng = np.random.default_rng(3)
    seen, unseen = rng.integers(0, 6, 15).tolist(), rng.integers(0, 5, 12).tolist()
    pairs = [(x > y) + 0.5 * (x == y) for x in seen for y in unseen]
    found = auc(seen, unseen)
    assert found.value == pytest.approx(np.mean(pairs))
    turned = auc(unseen, seen)
    assert [turned.ci_low, turned.ci_high] == pytest.approx([1 - found.ci_high, 1 - found.ci_low])
    perfect = auc([2.0, 3.0, 4.0], [0.0, 1.0])
    assert (perfect.value, perfect.ci_high) == (1, 1)
    assert 0.4 < perfect.ci_low < 0.6
    truth = norm.cdf(1.5 / np.sqrt(2))
    intervals = [auc(rng.normal(1.5, 1, 20).tolist(), rng.normal(0, 1, 20).tolist()) for _ in range(400)]
    assert 0.93 <= np.mean([one.ci_low <= truth <= one.ci_high for one in intervals]) <= 0.99


def test_contamination_threshold_keeps_its_rate() -> None:
    """Unseen texts lie above the threshold at most as often as stated."""
    rng = np.random.default_rng(4)
    above = []
    for _ in range(2000):
        threshold = calibrated_threshold(rng.normal(size=39).tolist(), false_positive_rate=0.1)
        assert threshold is not None
        above.append(rng.normal() > threshold)
    assert np.mean(above) == pytest.approx(0.1, abs=0.02)
    assert calibrated_threshold([1.0] * 18, false_positive_rate=0.05) is None
    assert calibrated_threshold([1.0] * 19, false_positive_rate=0.05) == 1.0


def test_a_model_that_learnt_some_texts_is_found_out(folder: Path) -> None:
    """Known truth: half of the random texts are learnt by heart, and so are half of the study's."""
    import torch

    rng = np.random.default_rng(5)
    texts = ["".join(rng.choice(list("abcdefgh "), 40)) for _ in range(100)]
    model = loaded(folder, float64=False)
    learnt = torch.tensor([model.tokenizer(text)["input_ids"] for text in texts[::2]])
    optimiser = torch.optim.AdamW(model.model.parameters(), lr=5e-3)
    for _ in range(40):
        optimiser.zero_grad()
        model.model(input_ids=learnt, labels=learnt).loss.backward()
        optimiser.step()
    model.model.eval()
    kinds = ["controls, seen", "controls, unseen"] * 40 + ["items", "human outputs"] * 10
    known = [StudyText(source=kind, item_id=str(n), text=texts[n]) for n, kind in enumerate(kinds)]  # type: ignore[arg-type]
    found = contamination(
        scored_texts(known, token_statistics(model, texts)), model="m", fingerprint=None, dtype="float32"
    )
    assert found.aucs["min_k"].ci_low > 0.9
    share = {row.source: row.share for row in found.predicted if row.measure == "min_k"}
    assert share["items"] >= 0.9
    assert share["human outputs"] <= 0.2


def spa(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def test_the_command_scores_what_no_system_wrote(folder: Path, tmp_path: Path) -> None:
    study = tmp_path / "s" / "study.toml"
    spa("init", study.parent)
    text = study.read_text().replace('id = "novelist"', 'id = "novelist"\nrole = "human"', 1)
    study.write_text(
        text + f'\n[[raters]]\nid = "here"\nprovider = "local"\nmodel = "{folder}"\nanswer_format = "json"\n'
    )
    controls = tmp_path / "known.csv"
    controls.write_text("text,seen\n" + "".join(f"known text {n},{n % 2}\n" for n in range(40)))
    code, told = spa("contamination", study, "--model", "here", "--controls", controls, "--out", tmp_path / "seen")
    assert code == 0, told
    table = pl.read_csv(tmp_path / "seen" / "contamination.csv")
    assert set(table["source"]) == {"items", "human outputs", "controls, seen", "controls, unseen"}
    assert set(table["system"].drop_nulls()) == {"novelist"}
    page = (tmp_path / "seen" / "contamination.html").read_text()
    assert "are predicted as seen" in page
    assert "not where from" in page
    assert "<svg" in page
    _, told = spa("contamination", study, "--model", folder, "--out", tmp_path / "alone", "--json")
    assert json.loads(told) == {"aucs": {}, "thresholds": {}, "predicted": []}
    assert "there is no threshold and no verdict" in (tmp_path / "alone" / "contamination.md").read_text()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("text,known\na b,1\n", "expected the columns text and seen, got no seen"),
        ("text,seen\na b,1\nc d,perhaps\n", "row 3: expected seen to be true or false, got 'perhaps'"),
        ("text,seen\n,1\n", "row 2: expected a text, got nothing"),
    ],
)
def test_controls_that_cannot_be_read_are_told_in_a_line(tmp_path: Path, content: str, problem: str) -> None:
    study = tmp_path / "s" / "study.toml"
    spa("init", study.parent)
    controls = tmp_path / "known.csv"
    controls.write_text(content)
    code, told = spa("contamination", study, "--model", "none", "--controls", controls, "--out", tmp_path / "seen")
    assert code == 1
    assert problem in told
    assert len(told.splitlines()) == 1
