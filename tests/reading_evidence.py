"""What the script of a page sends of somebody who has read all of it."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from spa.records.form import Form, Page
from spa.responses.reading_evidence import READING


def evidence_of(page: Page) -> dict[str, str]:
    """Return the field that says that every output of a page was on screen for an hour."""
    outputs = {exhibit.exhibit_id: [0, 3600, 1] for exhibit in page.outputs}
    return {READING: json.dumps({"seconds": 3600, "outputs": outputs})}


class ReadingClient(httpx2.Client):
    """A client that adds the evidence to each page of ``form`` that it sends."""

    form: Form | None = None

    def post(self, url: Any, **sent: Any) -> httpx2.Response:  # type: ignore[override]
        """Post a page with its evidence."""
        assert self.form is not None
        page = next(page for page in self.form.pages if str(url).partition("?")[0].endswith(f"/p/{page.page_id}"))
        return super().post(url, data={**sent["data"], **evidence_of(page)})
