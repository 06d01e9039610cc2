"""What explanations speak of: masking, keywords, separation against scikit-learn and known truth, the command."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.explanations import exploration
from analysis.explanations.embedding import embed
from analysis.explanations.separation import cross_validated, separation
from analysis.explanations.texts import ExplainedText, explained_texts, masked
from spa.errors import AnalysisError, PlatformError
from tests.conftest import need
from tests.spa import tiny_models
from tests.spa.rehearsed import spa
from tests.spa.tiny_models import models as models
from tests.streamlit_app.explained import explained_study


def text(words: str, criterion: str, unit: str = "i", group: str = "g") -> ExplainedText:
    return ExplainedText(
        group=group, annotator_kind="llm", annotator_id="a", criterion=criterion, unit=unit, text=words
    )


def test_names_of_criteria_are_masked_in_all_their_forms() -> None:
    assert masked("Surprised? SURPRISING; no surprises, unsurprising", ["Surprise"]) == "…? …; no …, unsurprising"
    assert masked("complex, but complete", ["complexity"]) == "…, but complete"
    assert masked("a (b", []) == "a (b"
    assert explained_texts([]) == []


def test_each_output_of_a_pair_keeps_its_sample() -> None:
    names = ("group", "annotator_kind", "annotator_id", "criterion", "item_id", "explanation", "value")
    row: Any = SimpleNamespace(**dict.fromkeys(names, "a"), sample=None, sample_x="2", sample_y="1")
    row.system, row.system_x, row.system_y = None, "x", "y"
    (found,) = explained_texts([row])
    assert (found.system, found.sample, found.system_y, found.sample_y) == ("x", "2", "y", "1")


def test_the_classifier_is_that_of_scikit_learn() -> None:
    need("sklearn")
    from sklearn.linear_model import RidgeClassifier

    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, (2, 60))
    vectors = rng.normal(size=(60, 5)) + labels[0][:, None]
    folds = np.arange(60) % 4
    expected = []
    for row in labels:
        hits = 0
        for fold in range(4):
            fitted = RidgeClassifier(alpha=1.0).fit(vectors[folds != fold], row[folds != fold])
            hits += int(np.sum(fitted.predict(vectors[folds == fold]) == row[folds == fold]))
        expected.append(hits / 60)
    assert cross_validated(vectors, labels, folds, 3) == pytest.approx(expected)


def test_explained_texts_separate_criteria() -> None:
    """What is said of one item is alike; only within items do criteria count."""
    rng = np.random.default_rng(2)
    units = [f"i{n // 3}" for n in range(90)]
    criteria = [f"c{n % 3}" for n in range(90)]
    of_item = np.repeat(rng.normal(size=(30, 8)), 3, axis=0)
    apart = of_item + np.eye(8)[np.arange(90) % 3] * 4
    found = separation("g", apart, criteria, units, rng=np.random.default_rng(0))
    assert found.accuracy is not None
    assert (found.accuracy, found.p_value) == (pytest.approx(1, abs=0.1), pytest.approx(0.001))
    rates = []
    for seed in range(24):
        alike = of_item + rng.normal(size=(90, 8))
        rates.append(separation("g", alike, criteria, units, rng=np.random.default_rng(seed)).p_value)
    assert np.mean([rate is not None and rate <= 0.1 for rate in rates]) <= 0.2
    assert np.mean([rate or 0 for rate in rates]) == pytest.approx(0.5, abs=0.18)


def test_separation_that_cannot_be_tested_says_why() -> None:
    found = separation("g", np.eye(3), ["a"] * 3, ["i", "j", "k"], rng=np.random.default_rng(0))
    assert (found.accuracy, str(found.reason)) == (None, "needs two criteria and two items")
    assert "cannot be tested" in found.words()


@pytest.mark.parametrize("method", ["YAKE", "TF-IDF"])
def test_keywords_are_those_of_their_criterion(method: exploration.Method) -> None:
    need("sklearn", *(["yake"] if method == "YAKE" else []))
    texts = [text(f"The ending surprised nobody, case {n}.", "plot") for n in range(5)]
    texts += [text(f"Clumsy grammar here and there, case {n}.", "style") for n in range(5)]
    found = exploration.keywords(texts, method=method)
    best = {name: [row.keyword.lower() for row in found if row.criterion == name][:5] for name in ("plot", "style")}
    assert any("ending" in word for word in best["plot"])
    assert any("grammar" in word for word in best["style"])
    assert max(len(row.keyword.split()) for row in found) <= 3
    assert {row.method for row in found} == {method}
    assert next(row.n_texts for row in found if row.keyword == best["plot"][0]) == 5
    assert exploration.keywords([text("...", "plot")], method=method) == []


@pytest.mark.parametrize("method", ["YAKE", "TF-IDF"])
def test_every_keyword_stands_in_a_text_as_it_is(method: exploration.Method) -> None:
    """Words that are left out part phrases, and so do signs and the ends of texts; whole words are counted."""
    need("sklearn", *(["yake"] if method == "YAKE" else []))
    texts = [
        text("The plot of the old story, with art\u2019s charm", "plot"),
        text("Party scenes aren't well-made.", "plot"),
    ]
    texts += [text("Syntax is off: clumsy words -- 'odd' words", "style"), text("Odd marks and clumsy syntax", "style")]
    found = exploration.keywords(texts, method=method)
    written = {
        name: " ".join(one.text.lower().replace("\u2019", "'") for one in texts if one.criterion == name)
        for name in ("plot", "style")
    }
    assert found
    assert all(row.keyword.lower() in written[row.criterion] and row.n_texts >= 1 for row in found)
    assert not {"plot old", "plot old story", "marks clumsy", "charm party", "off clumsy"} & {
        row.keyword for row in found
    }
    if method == "TF-IDF":
        counts = {row.keyword: row.n_texts for row in found}
        assert (counts["old story"], counts["clumsy words"], counts["well-made"], counts["odd"]) == (1, 1, 1, 2)
        chinese = [text("剧情很好", "plot"), text("剧情一般", "plot")]
        assert {row.keyword: row.n_texts for row in exploration.keywords(chinese, language="zh", method=method)}[
            "剧情"
        ] == 2


@pytest.mark.one_process("models")  # with those who load the libraries that run models
def test_vectors_have_length_one_whatever_the_texts(models: Path) -> None:
    need("sklearn")
    for texts in (["a fine ending", "a bad ending", ""], ["same", "same"], ["", "?"]):
        lengths = np.linalg.norm(embed(texts), axis=1)
        assert np.all(np.isclose(lengths, 1) | (lengths == 0))
    assert embed(["好故事", "坏故事"], language="zh").shape[0] == 2
    folder = tiny_models.tiny_llama(models / "embedding")
    texts = ["short", "rather longer than short", "short"]
    vectors = embed(texts, model=folder)
    assert vectors[0] == pytest.approx(vectors[2])
    assert vectors[1] == pytest.approx(plain_mean(folder, texts[1]), abs=1e-5)
    with pytest.raises(PlatformError, match="expected a folder with a model"):
        embed(["a"], model=models / "absent")


def plain_mean(folder: Path, words: str) -> list[float]:
    """Return the unit mean of the last hidden states, computed alone."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    ids = torch.tensor([AutoTokenizer.from_pretrained(folder)(words)["input_ids"]])
    with torch.no_grad():
        mean = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()(ids).last_hidden_state[0].mean(0)
    unit: list[float] = (mean / mean.norm()).tolist()
    return unit


def test_a_map_without_umap_is_said_to_be_pca(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploration, "find_spec", lambda name: None)
    vectors = np.random.default_rng(0).normal(size=(20, 4)) * [9, 3, 1, 1]
    points, projection = exploration.project(vectors, rng=np.random.default_rng(0))
    assert projection == "PCA"
    assert points.var(axis=0) == pytest.approx(np.linalg.eigvalsh(np.cov(vectors.T, bias=True))[:-3:-1])
    assert exploration.project(vectors[:1], rng=np.random.default_rng(0))[0].tolist() == [[0, 0]]


def test_one_text_is_refused_in_a_line() -> None:
    need("sklearn")
    with pytest.raises(AnalysisError, match="expected at least two explanations or comments, got 1"):
        exploration.explore([text("a", "b")], [], rng=np.random.default_rng(0))


def test_the_command_writes_what_people_and_raters_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("sklearn")
    monkeypatch.setattr(exploration, "find_spec", lambda name: None)  # UMAP takes long to load
    study = explained_study(tmp_path / "study")
    told = spa("explanations", study, "--out", tmp_path / "out").output
    assert "PCA of TF-IDF" in told
    assert 'pip install ".[keywords]"' in told
    page = (tmp_path / "out" / "explanations.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "How well criteria separate" in page
    assert "![" in (tmp_path / "out" / "explanations.md").read_text(encoding="utf-8")
    assert "<svg" in (tmp_path / "out" / "figures" / "exploration.svg").read_text(encoding="utf-8")
    table = pl.read_csv(tmp_path / "out" / "map.csv")
    assert set(table["criterion"]) >= {"plot", "style", "comment"}
    assert set(table["group"]) == {"simulated", "judge"}
    rows = pl.read_csv(tmp_path / "out" / "separation.csv")
    assert rows.filter(pl.col("group") == "judge")["p_value"].item() <= 0.01
    assert "grammar" in " ".join(pl.read_csv(tmp_path / "out" / "keywords.csv")["keyword"])
