"""OpenAI's files and batches on loopback, with the ways in which they may fail."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from tests.spa.scripted_server import Asked, Said, http, middle


class BatchServer:
    """Keeps files and works on batches at once; each entry of ``drop`` breaks one answer off after its effect."""

    def __init__(self, *drop: str, status: str = "completed", refuse: tuple[str, ...] = ()) -> None:
        self.drop = list(drop)
        self.refuse = list(refuse)
        self.status = status
        self.says: dict[int, dict[str, Any]] = {}  # instead of an answer, by the number of the line overall
        self.always: dict[str, dict[str, Any]] = {}  # the same, by the visit
        self.broken: dict[int, str] = {}  # instead of a line of the result file; the same
        self.ascii = True  # whether other letters are escaped
        self.files: dict[str, tuple[str, bytes]] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.lines: Counter[str] = Counter()  # custom id -> how often it was worked on

    def __call__(self, asked: Asked) -> Said:
        """Answer one request."""
        method, path = asked.method, asked.path.split("?")[0].removeprefix("/v1/")
        what = f"{method} {re.sub(r'_[0-9]+', '', path)}"
        if what in self.refuse:
            self.refuse.remove(what)
            return http({"error": {"message": "not now"}}, status=429)
        if what == "LOST POST files" or ("LOST " + what) in self.drop:
            self.drop.remove("LOST " + what)
            return Said(close=True)
        answer = self.answer(method, path, asked.body)
        if what in self.drop:
            self.drop.remove(what)
            return Said(close=True)
        return answer

    def answer(self, method: str, path: str, body: Any) -> Said:
        """Do what is asked."""
        if (method, path) == ("POST", "files"):
            name = re.search(rb'filename="([^"]+)"', body)
            content = body.split(b"\r\n\r\n")[-1].rsplit(b"\r\n--", 1)[0]
            parts = [part for part in body.split(b"\r\n\r\n") if b"custom_id" in part]
            content = parts[0].rsplit(b"\r\n--", 1)[0]
            return http(self.file(name[1].decode() if name else "", content))
        if (method, path) == ("GET", "files"):
            rows = [self.shown(one) for one in self.files]
            return http({"object": "list", "data": rows, "has_more": False})
        if path.endswith("/content"):
            return http(self.files[path.split("/")[1]][1])
        if (method, path) == ("POST", "batches"):
            return http(self.work(body))
        if (method, path) == ("GET", "batches"):
            return http({"object": "list", "data": list(self.batches.values()), "has_more": False})
        return http(self.batches[path.split("/")[1]])

    def file(self, name: str, content: bytes) -> dict[str, Any]:
        """Keep a file."""
        made = f"file_{len(self.files)}"
        self.files[made] = (name, content)
        return self.shown(made)

    def shown(self, name: str) -> dict[str, Any]:
        """Return a file object."""
        filename, content = self.files[name]
        known = {"object": "file", "bytes": len(content), "created_at": 0, "purpose": "batch", "status": "processed"}
        return {"id": name, "filename": filename, **known}

    def written(self, row: Any) -> str:
        """Return a line of a result file."""
        return row if isinstance(row, str) else json.dumps(row, ensure_ascii=self.ascii)

    def work(self, body: Any) -> dict[str, Any]:
        """Make a batch and answer all of it."""
        made = f"batch_{len(self.batches)}"
        output: list[Any] = []
        errors: list[Any] = []
        for text in self.files[body["input_file_id"]][1].decode().splitlines() if self.status == "completed" else ():
            line = json.loads(text)
            self.lines[line["custom_id"]] += 1
            if sum(self.lines.values()) in self.broken:
                output.append(self.broken[sum(self.lines.values())])
                continue
            say = self.always.get(line["custom_id"].split("|")[0]) or self.says.get(sum(self.lines.values()))
            if say is not None and "status_code" in say:
                errors.append({"custom_id": line["custom_id"], "response": say, "error": None})
                continue
            if say is not None and "error" in say:
                errors.append({"custom_id": line["custom_id"], "response": None, **say})
                continue
            answer = say or middle(Asked(number=0, method="POST", path="", body=line["body"]))
            output.append({"custom_id": line["custom_id"], "response": {"status_code": 200, "body": answer}})
        files = {"output_file_id": output, "error_file_id": errors}
        named = {
            key: self.file("out.jsonl", "\n".join(map(self.written, rows)).encode())["id"] if rows else None
            for key, rows in files.items()
        }
        self.batches[made] = {
            "id": made, "object": "batch", "endpoint": body["endpoint"], "completion_window": "24h", "created_at": 0,
            "input_file_id": body["input_file_id"], "metadata": body["metadata"], "status": self.status, **named,
        }  # fmt: skip
        return self.batches[made]
