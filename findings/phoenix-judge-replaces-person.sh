#!/usr/bin/env bash
# Arize Phoenix 20.26.1: an LLM judge's annotation replaces a person's of the same name and identifier.
#
# Guess: what a person and what an LLM say of one span are two annotations, as annotator_kind tells them apart. Seen: a
# span keeps one for each name and identifier, and the identifier is empty unless it is given: a judge that is logged
# after people leaves only its own verdict, the person's is in no export, and agreement of the two cannot be computed.
set -euo pipefail
place=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet arize-phoenix==20.26.1
export PHOENIX_WORKING_DIR=$place PHOENIX_HOST=127.0.0.1 PHOENIX_PORT=26006 PHOENIX_GRPC_PORT=26007
"$place/env/bin/python" -m phoenix.server.main serve >"$place/log" 2>&1 &
server=$!
"$place/env/bin/python" - <<'PYTHON'
import time
from importlib.metadata import version
from urllib.error import URLError
from urllib.request import urlopen

from phoenix.client import Client

ADDRESS = "http://127.0.0.1:26006"
print("arize-phoenix", version("arize-phoenix"))
for _ in range(120):
    try:
        urlopen(f"{ADDRESS}/healthz").close()
        break
    except URLError:
        time.sleep(1)
client = Client(base_url=ADDRESS)
times = {"start_time": "2026-11-28T10:00:00+00:00", "end_time": "2026-11-28T10:00:01+00:00"}
span = {"name": "answer", "span_kind": "LLM", "context": {"trace_id": "1" * 32, "span_id": "1" * 16}, **times}
span |= {"parent_id": None, "status_code": "OK", "status_message": "", "attributes": {}, "events": []}
client.spans.log_spans(project_identifier="study", spans=[span])
about = {"span_id": "1" * 16, "name": "quality"}


def kept():
    found = client.spans.get_span_annotations(span_ids=["1" * 16], project_identifier="study")
    return sorted((one["annotator_kind"], one["identifier"], one["result"]["score"]) for one in found)


def given(kind, score, **identifier):
    annotation = {**about, "annotator_kind": kind, "result": {"score": score}, **identifier}
    for _ in range(60):  # the span may not be stored yet
        try:
            return client.spans.log_span_annotations(span_annotations=[annotation], sync=True)
        except Exception:
            time.sleep(1)
    raise SystemExit("the span was not stored")


given("HUMAN", 5)
print("a person:", kept())
given("LLM", 1)
print("then a judge:", kept())
assert kept() == [("LLM", "", 1.0)], "a judge no longer replaces a person"
given("HUMAN", 5, identifier="ann")
print("a person with an identifier:", kept())
assert len(kept()) == 2
PYTHON
