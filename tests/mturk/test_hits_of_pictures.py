"""Pages whose pictures do not fit into a HIT, and those with clips, stand on the survey server, which is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from tests.mturk.studies import STUDY, Bench, make_bench
from tests.spa.tiny_clips import tiny_sound

SURVEY = "https://survey.example.org"


def pictured(bench: Bench, name: str, side: int, public_url: str | None) -> Bench:
    """Return a study whose items show a picture that no encoder makes smaller."""
    folder = bench.study.parent / name
    folder.mkdir()
    noise = np.random.default_rng(1).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "noise.png")
    return shown_in(bench, folder, "image", "noise.png", public_url)


def shown_in(bench: Bench, folder: Path, kind: str, name: str, public_url: str | None) -> Bench:
    """Return a study whose items show a file."""
    shown = STUDY.replace('item_text = "item_text"', 'item_text = "given", item_kind = "KIND", sample = "sample"')
    rows = [
        {"item_id": f"i{item}", "system": system, "given": name, "sample": "1", "output": f"Text {item}."}
        for item in range(1, 7)
        for system in ("alpha", "beta", "gamma")
    ]
    (folder / "shown.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = shown.replace("outputs.jsonl", "shown.jsonl").replace("KIND", kind)
    return make_bench(
        folder,
        bench.emulator,
        text=shown.replace("[mturk]", f'[mturk]\npublic_url = "{public_url}"' if public_url else "[mturk]"),
    )


def test_pictures_choose_the_survey_server(bench: Bench) -> None:
    """By themselves, in one line; small ones stand in the HIT; where no address is known, one line says so."""
    small = pictured(bench, "small", 4, SURVEY).json("plan")
    assert (small["form"], small["why_external"]) == ("html", None)
    large = pictured(bench, "large", 160, SURVEY)
    plan = large.json("plan")
    assert plan["form"] == "external"
    (line,) = (line for line in large.run("plan").stdout.splitlines() if SURVEY in line)
    assert line.startswith(f"the HIT shows the survey server, {SURVEY}: the form of ")
    assert line.endswith(f"makes {plan['largest_question_bytes']:,} bytes of XML, and a HIT holds 65,535")
    nowhere = pictured(bench, "nowhere", 160, None).run("plan", code=1)
    assert "[mturk] public_url: expected the https address of the survey server" in nowhere.stderr
    assert "(the form of a00001 makes " in nowhere.stderr
    assert nowhere.stderr.count("\n") == 1


def test_clips_choose_the_survey_server(bench: Bench) -> None:
    """However small they are: it plays them part by part."""
    folder = bench.study.parent / "clips"
    folder.mkdir()
    (folder / "tone.wav").write_bytes(tiny_sound(0, 0))
    plan = shown_in(bench, folder, "audio", "tone.wav", SURVEY).json("plan")
    assert (plan["form"], plan["why_external"]) == (
        "external",
        "it shows clips, which the survey server plays part by part",
    )
