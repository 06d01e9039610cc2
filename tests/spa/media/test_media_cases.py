"""Pictures and tables as tools wrote them, in the shared cases where these are there: what people and models see."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from spa import StudyError, build_form, load_outputs, load_study, load_texts, sample_assignments, study_rng
from spa.forms.html import render_whole
from spa.media.image import IMAGE
from spa.media.image_tokens import image_tokens
from spa.media.medium import NeutralCopy

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases" / "media"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the cases of media are not there")


def copied(case: str, name: str) -> tuple[NeutralCopy, Image.Image]:
    """Return the copy that people and models are shown, and the picture in it."""
    assert IMAGE.files is not None
    assert IMAGE.files.neutral is not None
    copy = IMAGE.files.neutral((CASES / case / name).read_bytes())
    return copy, Image.open(io.BytesIO(copy.content))


def test_case_of_transparency_is_on_white() -> None:
    copy, picture = copied("model-sees-black", "alpha.png")
    values = np.asarray(picture)
    assert (picture.mode, values[0, 0].tolist(), int(values.min())) == ("RGB", [255, 255, 255], 0)
    assert copy.marks == ("transparent",)


@pytest.mark.parametrize("name", ["once.gif", "anim.webp"])
def test_case_of_films_is_one_still(name: str) -> None:
    """The first of three pictures, for people as for models, and a word about it."""
    copy, picture = copied("model-sees-first-frame", name)
    with Image.open(CASES / "model-sees-first-frame" / name) as given:
        assert given.n_frames == 3  # type: ignore[attr-defined]
        first = np.asarray(given.convert("RGB"))
    assert getattr(picture, "n_frames", 1) == 1
    assert np.array_equal(np.asarray(picture.convert("RGB")), first)
    assert copy.marks == ("film",)


def test_case_of_pictures_on_their_side_is_upright() -> None:
    case = CASES / "model-sees-it-sideways"
    for name, size in json.loads((case / "expected.json").read_text())["people_and_models_see"].items():
        _, picture = copied(case.name, name)
        assert list(picture.size) == size
        assert not picture.getexif()


def test_case_of_tokens_is_as_processors_count() -> None:
    expected = json.loads((CASES / "image-tokens" / "expected.json").read_text())
    for family, sizes in expected.items():
        for size, tokens in sizes.items() if isinstance(sizes, dict) else ():
            width, height = map(int, size.split("x"))
            assert image_tokens(width, height, family.partition(" ")[0]) == (tokens, tokens), (family, size)


@pytest.mark.parametrize("name", ["cut.png", "cut.jpg"])
def test_case_of_a_cut_picture_is_one_line(tmp_path: Path, name: str) -> None:
    for file in ("cut.png", "cut.jpg"):
        (tmp_path / file).write_bytes((CASES / "cut-image-traceback" / file).read_bytes())
    for file in ("study.toml", "outputs.csv"):
        text = (CASES / "cut-image-traceback" / file).read_text(encoding="utf-8")
        (tmp_path / file).write_text(text.replace("cut.png", name), encoding="utf-8")
    with pytest.raises(StudyError, match=f'got "{name}", which is cut off or broken') as caught:
        load_outputs(load_study(tmp_path / "study.toml"))
    assert len(caught.value.problems) == 1


def test_case_of_a_table_is_aligned_by_classes() -> None:
    """No attribute that the policy of pages refuses; the cells stand right and left all the same."""
    study = load_study(CASES / "table-alignment-blocked" / "study.toml")
    outputs, texts = load_outputs(study), load_texts(study.language, study.texts)
    ((drawn, key),) = sample_assignments(study, outputs, count=1, rng=study_rng(1))
    page = render_whole(build_form(study, outputs, drawn, key, texts), texts)
    (table,) = re.findall(r"<table.*?</table>", page, re.DOTALL)
    assert "style=" not in table
    assert re.findall(r'<td class="(\w+)">([^<]+)<', table) == [("right", "5"), ("left", "very good")]
    assert all(f".prose .{side} {{ text-align: {side}; }}" in page for side in ("right", "left"))
