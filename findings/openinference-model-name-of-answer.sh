#!/usr/bin/env bash
# openinference-instrumentation-openai 0.1.66: llm.model_name is the model that answered; a failed call has none.
#
# Guess: llm.model_name of a span is the model that was asked for. Seen: it is what the response says, so a server that
# goes from one snapshot to the next makes two models of one system, and a call that ended in an error has no model: in
# a table by model failures are gone, and a system that fails often looks as reliable as one that never does. The model
# asked for is on every span, within the JSON of llm.invocation_parameters.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet openinference-instrumentation-openai==0.1.66 openai==3.57.0 \
  opentelemetry-sdk==1.45.2
"$place/env/bin/python" - <<'PYTHON'
import json
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from threading import Thread

from openai import BadRequestError, OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

print("openinference-instrumentation-openai", version("openinference-instrumentation-openai"))


class Server(BaseHTTPRequestHandler):
    """Answers as the snapshot that the prompt names; refuses the prompt "refuse"."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = asked["messages"][0]["content"]
        message = {"role": "assistant", "content": "An answer."}
        reply = {"id": "1", "object": "chat.completion", "created": 1, "model": f"{asked['model']}-{prompt}"}
        reply["choices"] = [{"index": 0, "finish_reason": "stop", "message": message}]
        refused = prompt == "refuse"
        body = json.dumps({"error": {"message": "refused"}} if refused else reply).encode()
        self.send_response(400 if refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Server)
Thread(target=server.serve_forever, daemon=True).start()
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
OpenAIInstrumentor().instrument(tracer_provider=provider)
client = OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", max_retries=0)
for prompt in ("may", "may", "june", "refuse", "refuse"):
    try:
        client.chat.completions.create(model="writer", messages=[{"role": "user", "content": prompt}])
    except BadRequestError:
        pass

kept = [span for span in spans.get_finished_spans() if span.attributes["openinference.span.kind"] == "LLM"]
named = Counter((span.attributes.get("llm.model_name"), span.status.status_code.name) for span in kept)
asked = Counter(json.loads(span.attributes["llm.invocation_parameters"])["model"] for span in kept)
print("by llm.model_name:", dict(named))
print("by llm.invocation_parameters:", dict(asked))
assert asked == {"writer": 5}
seen = {("writer-may", "OK"): 2, ("writer-june", "OK"): 1, (None, "ERROR"): 2}
assert named == seen, "the library does otherwise now"
PYTHON
