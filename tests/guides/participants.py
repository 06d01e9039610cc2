"""People of the emulated Prolific, who come to a study that the guide has published."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from prolific.emulator.participant_pool import fitting
from spa.commands.workspace import open_workspace
from tests.guides.others import rows
from tests.guides.reader import GuideReader
from tests.prolific.people import People
from tests.prolific.running_study import Visitor

CROWD = 300  # people on the platform who could take part


@dataclass
class Participants:
    """Two people who answer everything, and one who says that there was no code."""

    reader: GuideReader
    study: Path
    finished: list[str] = field(default_factory=list)  # submissions

    def crowd(self, reader: GuideReader) -> None:
        """Let so many be on the platform who pass the study's filters that it can be published."""
        with self._platform() as people:
            filters = people.do("GET", f"studies/{self.study_id()}/state/")["filters"]
            people.do("POST", "participants/", {"count": CROWD, "attributes": fitting(filters)})

    def come(self, reader: GuideReader) -> None:
        """Take part."""
        survey = reader.server(("serve",))
        assert survey is not None
        with self._platform() as people, open_workspace(self.study) as workspace:
            joined = [one["id"] for one in people.do("GET", "participants/")["results"]][-3:]
            running = SimpleNamespace(url=survey.url, workspace=workspace, emulator=SimpleNamespace(people=people))
            for person in joined[:2]:
                taken = people.enter(self.study_id(), person)
                visitor = Visitor(running, taken["id"], person, taken["study_url"])  # type: ignore[arg-type]
                visitor.answer()
                visitor.hand_in()
                self.finished.append(taken["id"])
            people.complete(people.enter(self.study_id(), joined[2])["id"], None)

    def list_bonuses(self, reader: GuideReader) -> None:
        """Write the file that the guide describes."""
        body = [(submission, "0.50", "Thank you for the care.") for submission in self.finished]
        rows(reader.folder / "bonuses.csv", ("recipient", "amount", "reason"), body)

    def study_id(self) -> str:
        """Return what the platform calls the study, as the guide's command printed it."""
        (told,) = [said for text, said in self.reader.printed.items() if text.startswith("spa prolific create ")]
        return str(re.findall(r"\bid (\w{24})", told)[0])

    def paid(self) -> int:
        """Return how many bonuses the platform has been asked to pay."""
        with self._platform() as people:
            return len(people.payments())

    @contextmanager
    def _platform(self) -> Iterator[People]:
        server = self.reader.server(("prolific", "emulate"))
        assert server is not None
        with People.at(server.url) as people:
            yield people
