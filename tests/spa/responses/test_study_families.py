"""Studies of one family take each person of a platform once, whichever asks first, and know nobody by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from spa.errors import ResponseError
from spa.responses.admission import SecondVisit
from spa.responses.pauses import pause, resume
from spa.responses.study_families import StudyFamily
from spa.server.app import create_app
from tests.spa.platforms.test_platform_adapters import come, mount
from tests.spa.responses.test_store import submission_of
from tests.spa.server.served_study import Place, build, opened
from tests.spa.small_study import STUDY


def test_twenty_threads_of_two_studies_share_out_the_people(database: str) -> None:
    studies = [StudyFamily(database, family="stories", study=study) for study in ("one", "two")]
    with ThreadPoolExecutor(20) as threads:

        def enter(number: int) -> tuple[int, str] | None:
            try:
                studies[number % 2].enter("panel", f"person {number // 4}", now=1.0)
            except SecondVisit:
                return None
            return number // 4, studies[number % 2].study

        taken = Counter(threads.map(enter, range(40)))
    del taken[None]
    assert sorted(person for person, _ in taken) == list(range(10))  # type: ignore[misc]
    assert set(taken.values()) == {2}  # the same study lets them in again
    for study in studies:
        study.close()


def test_another_family_and_another_platform_are_other_people(database: str) -> None:
    with (
        StudyFamily(database, family="stories", study="one") as one,
        StudyFamily(database, family="poems", study="two") as two,
    ):
        assert one.enter("panel", "juliet", now=1.0)
        assert not one.enter("panel", "juliet", now=2.0)
        assert one.enter("other", "juliet", now=2.0)
        assert two.enter("panel", "juliet", now=2.0)
        one.leave("panel", "juliet")
        two.leave("panel", "oscar")
        assert one.enter("panel", "juliet", now=3.0)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ResponseError, match=r"family_store: .*none/f.sqlite: cannot be written"):
        StudyFamily(tmp_path / "none" / "f.sqlite", family="stories", study="one")


@pytest.fixture
def places(tmp_path: Path) -> Iterator[list[Place]]:
    """Return two studies of one family, of one place each."""
    keys = 'annotators = 1, family = "stories", family_store = "../family.sqlite"'
    found = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        text = STUDY.replace("annotators = 6", keys).replace('"small"', f'"{name}"')
        place = opened(build(folder, text), folder / "answers.sqlite")
        place.client = TestClient(create_app(place.workspace, adapters=[mount]))
        found.append(place)
    yield found
    for place in found:
        place.workspace.close()


def test_family_turns_away_earlier_participants(places: list[Place], tmp_path: Path) -> None:
    """Whoever took part in one study is turned away by the next."""
    one, two = places
    pause(one.workspace.store, now=0.0)
    assert come(one, "rosalind", "v0").status_code == 503  # she may come back
    assert come(two, "rosalind", "v0").status_code == 403
    resume(one.workspace.store)
    assert come(one, "juliet", "v1").status_code == 303
    refused = come(two, "juliet", "v7")
    assert (refused.status_code, "You have taken part already" in refused.text) == (403, True)
    assert come(one, "juliet", "v1").status_code == 303
    (lease,) = one.workspace.store.visits.leases()
    one.workspace.store.visits.finish(submission_of(lease), "completed", "C", now=2.0)
    assert come(one, "oscar", "v2").status_code == 410  # no place left here, so that oscar may go elsewhere
    assert come(two, "oscar", "v8").status_code == 303
    held = b"".join(file.read_bytes() for file in tmp_path.glob("family.sqlite*"))
    assert not any(name in held for name in (b"juliet", b"oscar"))
