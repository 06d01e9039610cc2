"""The neutral copy of a picture: known pixels before and after, and what cannot be copied."""

from __future__ import annotations

import io
import stat
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

from spa.errors import StudyError
from spa.forms.html import Posting, render_whole
from spa.forms.prompt import render_prompt
from spa.forms.texts import load_texts
from spa.media import neutral_image as module
from spa.media.neutral_image import neutral_image
from spa.server.preview import create_preview
from spa.study import materials
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from spa.study.warnings import study_warnings
from tests.spa.media.test_media import STUDY, made, shown_on
from tests.spa.tiny_images import chunks, tiny_png

RED, BLUE, WHITE, BLACK = (255, 0, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)
ORIENTATION = 0x0112
NEAR = 6  # of 255, of a colour that a JPEG holds


def halves(left: Any = RED, right: Any = BLUE, mode: str = "RGB") -> Image.Image:
    """Return a picture of 32 by 16 pixels, half of one colour and half of another."""
    image = Image.new(mode, (32, 16), left)
    image.paste(right, (16, 0, 32, 16))
    return image


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def turned(way: int) -> Image.Exif:
    exif = Image.Exif()
    exif[ORIENTATION] = way
    return exif


def pixels(content: bytes) -> np.ndarray[Any, Any]:
    with Image.open(io.BytesIO(content)) as image:
        assert image.mode in ("RGB", "L", "P", "1")
        assert not image.getexif()
        assert not {"icc_profile", "transparency", "exif", "comment"} & set(image.info)
        return np.asarray(image.convert("RGB")).astype(int)


def ends(content: bytes) -> tuple[list[int], list[int]]:
    """Return the first and the last pixel of a copy."""
    found = pixels(neutral_image(content).content)
    return found[0, 0].tolist(), found[-1, -1].tolist()


def swapping() -> bytes:
    """Return an ICC profile whose red is blue: that of sRGB with the places of two colorants exchanged."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    places = {}
    for number in range(int.from_bytes(profile[128:132])):
        at = 132 + 12 * number
        places[bytes(profile[at : at + 4])] = at
    red, blue = places[b"rXYZ"], places[b"bXYZ"]
    profile[red + 4 : red + 12], profile[blue + 4 : blue + 12] = (
        profile[blue + 4 : blue + 12],
        profile[red + 4 : red + 12],
    )
    return bytes(profile)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_turned_picture_stands_upright(kind: str) -> None:
    """What lies on its side with a tag that says so is turned, and the tag is gone."""
    options = {"lossless": True} if kind == "WEBP" else {"quality": 95} if kind == "JPEG" else {}
    copy = neutral_image(saved(halves(), kind, exif=turned(6), **options))
    found = pixels(copy.content)
    assert found.shape == (32, 16, 3)  # turned by a quarter to the right: what was left is above
    assert abs(found[0, 8] - RED).max() <= NEAR
    assert abs(found[31, 8] - BLUE).max() <= NEAR


@pytest.mark.parametrize("way", range(1, 9))
def test_every_way_of_lying_is_turned_back(way: int) -> None:
    """As Pillow's own function for it turns, which is the independent value."""
    from PIL import ImageOps

    image = Image.effect_noise((24, 16), 90).convert("RGB")
    content = saved(image, "PNG", exif=turned(way))
    with Image.open(io.BytesIO(content)) as opened:
        assert (pixels(neutral_image(content).content) == np.asarray(ImageOps.exif_transpose(opened))).all()


def test_transparent_parts_are_white() -> None:
    """Black under what is transparent is not shown; what is half so is mixed with white."""
    image = halves((0, 0, 0, 0), (0, 0, 255, 128), "RGBA")
    copy = neutral_image(saved(image, "PNG"))
    assert (copy.suffix, copy.marks) == (".png", ("transparent",))
    found = pixels(copy.content)
    assert tuple(found[0, 0]) == WHITE
    assert tuple(found[0, 31]) == (127, 127, 255)
    grey = neutral_image(saved(halves((0, 0), (7, 255), "LA"), "PNG"))
    assert [tuple(pixels(grey.content)[0, place]) for place in (0, 31)] == [WHITE, (7, 7, 7)]


def test_sixteen_bits_are_scaled_to_eight() -> None:
    """Grey of 16 bits keeps its steps, instead of being white from 256 on; its transparent value is white."""
    values = np.array([[0, 257, 32768, 65535]], dtype=np.uint16)
    content = saved(Image.fromarray(values), "PNG")
    assert pixels(neutral_image(content).content)[0, :, 0].tolist() == [0, 1, 128, 255]
    header = struct.pack(">2I5B", 2, 1, 16, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" + struct.pack(">2H", 300, 40000))
    clear = chunks([(b"IHDR", header), (b"tRNS", struct.pack(">H", 300)), (b"IDAT", rows), (b"IEND", b"")])
    copy = neutral_image(clear)
    assert copy.marks == ("transparent",)
    assert pixels(copy.content)[0, :, 0].tolist() == [255, 156]
    colours = struct.pack(">2I5B", 1, 1, 16, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" + struct.pack(">3H", 65535, 32896, 0))
    content = chunks([(b"IHDR", colours), (b"IDAT", rows), (b"IEND", b"")])
    assert pixels(neutral_image(content).content)[0, 0].tolist() == [255, 128, 0]


def test_cmyk_is_shown_in_red_green_and_blue() -> None:
    """A JPEG for print becomes one for screens."""
    copy = neutral_image(saved(halves((0, 255, 255, 0), (0, 0, 0, 255), "CMYK"), "JPEG", quality=95))
    assert copy.suffix == ".jpg"
    found = pixels(copy.content)
    assert abs(found[0, 0] - RED).max() <= NEAR
    assert abs(found[-1, -1] - BLACK).max() <= NEAR


def test_a_palette_and_a_film_are_a_still() -> None:
    """Of a film the first picture is shown, and said; a GIF of one picture is none."""
    still = saved(halves().convert("P"), "GIF")
    assert neutral_image(still).marks == ()
    assert ends(still) == ([*RED], [*BLUE])
    for kind in ("GIF", "WEBP", "PNG"):
        options = {"lossless": True} if kind == "WEBP" else {}
        film = saved(halves(), kind, save_all=True, append_images=[halves(BLUE, RED)], duration=50, **options)
        copy = neutral_image(film)
        assert (copy.suffix, copy.marks) == (".png", ("film",))
        assert ends(film) == ([*RED], [*BLUE])


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_colour_profile_is_applied(kind: str) -> None:
    """A profile whose red is blue exchanges the two; that of sRGB changes nothing."""
    options = {"lossless": True} if kind == "WEBP" else {"quality": 95, "subsampling": 0} if kind == "JPEG" else {}
    first, last = ends(saved(halves(), kind, icc_profile=swapping(), **options))
    assert abs(np.array(first) - BLUE).max() <= NEAR
    assert abs(np.array(last) - RED).max() <= NEAR
    plain = saved(halves(), kind, **options)
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    tagged = neutral_image(saved(halves(), kind, icc_profile=srgb, **options))
    assert tagged.content == neutral_image(plain).content  # not encoded anew
    broken = neutral_image(saved(halves(), kind, icc_profile=b"no profile at all", **options))
    assert broken.marks == ("profile",)
    assert (pixels(broken.content) == pixels(neutral_image(plain).content)).all()


def test_gamma_and_primaries_are_applied() -> None:
    """As Chromium 156 shows these files; what names sRGB besides, or a gamma of 1 / 2.2 alone, is left as it is."""
    gamma, about = (b"gAMA", struct.pack(">I", 100_000)), (b"gAMA", struct.pack(">I", 45_455))
    wide = (b"cHRM", struct.pack(">8I", 31270, 32900, 73470, 26530, 11500, 82600, 15700, 1800))
    white = (b"cHRM", struct.pack(">8I", 34570, 35850, 64000, 33000, 30000, 60000, 15000, 6000))
    srgb = (b"sRGB", b"\0")
    for before, seen in (
        ([], (128, 64, 32)),
        ([gamma], (188, 137, 99)),
        ([about], (128, 64, 32)),
        ([srgb, gamma], (128, 64, 32)),
        ([wide, about], (158, 38, 15)),
        ([white, about], (134, 62, 31)),
    ):
        content = tiny_png(128, 64, 32, before=before)
        assert abs(pixels(neutral_image(content).content)[0, 0] - seen).max() <= 2
    for code_points, marks in (((1, 13, 0, 1), ()), ((9, 16, 0, 1), ("profile",))):
        assert neutral_image(tiny_png(before=[(b"cICP", bytes(code_points))])).marks == marks


def test_plain_pixels_are_not_encoded_anew() -> None:
    """A PNG of pixels alone is its own copy; a JPEG with the profile of sRGB keeps every pixel."""
    palette = saved(halves().convert("P", palette=Image.Palette.ADAPTIVE, colors=2), "PNG")
    assert neutral_image(palette).content == palette
    assert neutral_image(palette + b"zzgood").content != palette + b"zzgood"
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    noise = Image.effect_noise((40, 24), 90).convert("RGB")
    plain, tagged = (saved(noise, "JPEG", quality=40, **more) for more in ({}, {"icc_profile": srgb}))
    assert neutral_image(tagged).content == neutral_image(plain).content


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_blocks": 1}, {"quality": 30}])
def test_a_jpeg_loses_its_tags_and_no_pixel(options: dict[str, Any]) -> None:
    """Its tags, its comment and what follows its end are gone; nothing is encoded anew."""
    image = Image.effect_noise((40, 24), 90).convert("RGB")
    content = saved(image, "JPEG", exif=turned(1), comment=b"made by zzgood", dpi=(300, 300), **options)
    copy = neutral_image(content + b"zzgood and more").content
    assert b"zzgood" not in copy
    with Image.open(io.BytesIO(content)) as before:
        assert (pixels(copy) == np.asarray(before)).all()


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["JPEG", "PNG", "GIF", "WEBP"]),
    st.sampled_from(["1", "L", "P", "RGB", "RGBA", "CMYK", "LA", "I;16"]),
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(0, 9),
    st.binary(min_size=3, max_size=64),
)
def test_a_copy_is_its_own_copy(kind: str, mode: str, width: int, height: int, way: int, seed: bytes) -> None:
    """Whatever the file: the copy of a copy is the same bytes, and nothing is said of it."""
    values = np.resize(np.frombuffer(seed, dtype=np.uint8), (height, width, 4))
    image = Image.fromarray(values, "RGBA")
    image = Image.fromarray(values[..., 0].astype(np.uint16) * 255) if mode == "I;16" else image.convert(mode)
    try:
        content = saved(image, kind, exif=turned(way)) if kind != "GIF" else saved(image, kind)
    except (OSError, ValueError):
        return  # a mode that such files do not have
    copy = neutral_image(content)
    again = neutral_image(copy.content)
    assert (again.content, again.suffix, again.marks) == (copy.content, copy.suffix, ())
    pixels(copy.content)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP"])
def test_what_is_cut_off_is_refused(kind: str) -> None:
    """Wherever it ends: what browsers show in part is no picture."""
    content = saved(Image.effect_noise((64, 64), 90).convert("RGB"), kind)
    for part in (0.99, 0.9, 0.5, 0.1):
        with pytest.raises(ValueError, match="which is cut off or broken"):
            neutral_image(content[: int(len(content) * part)])


def test_a_picture_of_too_many_pixels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file of a huge picture is refused before it is decoded."""
    header = struct.pack(">2I5B", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = chunks([(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")])
    with pytest.raises(ValueError, match="with more than 64,000,000 pixels"):
        neutral_image(bomb)
    monkeypatch.setattr(module, "PIXELS", 511)
    with pytest.raises(ValueError, match=r"with more than 511 pixels \(32 x 16 pixels\); make it smaller"):
        neutral_image(saved(halves(), "PNG"))


def image_study(folder: Path, contents: list[bytes]) -> Path:
    """Write a study of images, one for each item and system in turn."""
    rows = ["item_id,system,output"]
    for number, content in enumerate(contents):
        system = ("zzgood", "zzpoor")[number % 2]
        (folder / f"{system}-{number}.png").write_bytes(content)
        rows.append(f"{number // 2},{system},{system}-{number}.png")
    (folder / "outputs.csv").write_text("\n".join(rows) + "\n")
    path = folder / "study.toml"
    path.write_text(STUDY.format(kind="image").replace("outputs.jsonl", "outputs.csv"))
    return path


def test_people_and_models_get_the_same_copy(tmp_path: Path) -> None:
    """Served, in a HIT and in a prompt: one file, kept for its owner alone, made once."""
    contents = [saved(halves((0, 0, 0, 0), (*RED, 255), "RGBA"), "PNG"), *(tiny_png(number) for number in range(7))]
    path = image_study(tmp_path, contents)
    study, outputs, form = made(path)
    seen = {output.file: output.shown_file for output in outputs.all()}
    (first,) = [shown for file, shown in seen.items() if file is not None and file.name == "zzgood-0.png"]
    assert first is not None
    assert first.read_bytes() == neutral_image(contents[0]).content
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    texts = load_texts("en", {})
    client = TestClient(create_preview(form, texts))
    html = render_whole(form, texts, posting=Posting(script="", origins=("https://platform.example",), fields={}))
    (message,) = render_prompt(form).chat_messages("")
    sent = [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"]
    shown = shown_on(form)
    assert shown
    for exhibit, url in zip(shown, sent, strict=True):
        assert exhibit.file in seen.values()
        answer = client.get(f"/image/{exhibit.exhibit_id}")
        assert answer.content == exhibit.file.read_bytes()
        assert url in html
        assert "zz" not in exhibit.file.name
    before = {one: one.stat().st_mtime_ns for one in first.parent.iterdir()}
    load_outputs(study)
    assert before == {one: one.stat().st_mtime_ns for one in first.parent.iterdir()}


def test_a_fingerprint_is_that_of_the_originals(tmp_path: Path) -> None:
    """A study with copies is the study that it was before there were any."""
    path = image_study(tmp_path, [saved(halves(), "PNG", exif=turned(6)), *(tiny_png(number) for number in range(7))])
    study = load_study(path)
    before = study_fingerprint(study)
    originals = [output.file.read_bytes() for output in load_outputs(study).all() if output.file is not None]
    assert neutral_image(originals[0]).content != originals[0]
    for copy in (tmp_path / materials.FOLDER).glob("*.*"):
        copy.write_bytes(tiny_png(99))
    assert study_fingerprint(study) == before


def test_check_says_what_is_shown_otherwise(tmp_path: Path) -> None:
    """Films, transparent parts and colour profiles are counted, the first item named."""
    film = saved(halves(), "PNG", save_all=True, append_images=[halves(BLUE, RED)])
    clear = saved(halves((0, 0, 0, 0), (*RED, 255), "RGBA"), "PNG")
    odd = saved(halves(), "PNG", icc_profile=b"none")
    path = image_study(tmp_path, [film, clear, film, odd, *(tiny_png(number) for number in range(4))])
    for _ in range(2):  # made, then found
        said = study_warnings(load_study(path), load_outputs(load_study(path)))
        assert "2 of 8 outputs are films (2 of zzgood; first: item 0): " in "\n".join(said)
        assert "1 of 8 outputs are transparent in parts (1 of zzpoor; first: item 0): " in "\n".join(said)
        assert "1 of 8 outputs have a colour profile that cannot be applied (1 of zzpoor; " in "\n".join(said)


def test_a_broken_picture_is_one_line_of_check(tmp_path: Path) -> None:
    """However many rows name it."""
    path = image_study(tmp_path, [tiny_png(number) for number in range(8)])
    (tmp_path / "zzgood-0.png").write_bytes(saved(Image.effect_noise((64, 64), 90), "PNG")[:900])
    rows = (tmp_path / "outputs.csv").read_text().replace("zzgood-2.png", "zzgood-0.png")
    (tmp_path / "outputs.csv").write_text(rows)
    with pytest.raises(StudyError) as caught:
        load_outputs(load_study(path))
    (problem,) = caught.value.problems
    said = 'outputs.csv row 2: expected an image that can be shown, got "zzgood-0.png", which is cut off or broken ('
    assert said in problem
    assert problem.endswith("; get it again")


def test_copies_are_kept_elsewhere_if_they_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the folder of a study cannot be written to, it is shown all the same."""
    path = image_study(tmp_path, [tiny_png(number) for number in range(8)])
    (tmp_path / materials.FOLDER).write_text("in the way of a folder")
    shown = {output.shown_file for output in load_outputs(load_study(path)).all()}
    assert None not in shown
    assert not any(one is not None and one.is_relative_to(tmp_path) for one in shown)
