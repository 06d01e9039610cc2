#!/usr/bin/env bash
# google-genai 3.6.1: one failed request with error details makes a whole paid batch unreadable, and the list of batches.
#
# Guess: a batch of which some requests failed is fetched with the answers of the others, and an error for each of these.
# Seen: an error as the API writes it (google.rpc.Status, whose details are objects such as RetryInfo) is not taken by
# JobError, whose details are texts: batches.get raises a ValidationError, and so does batches.list while that batch is
# kept. Nothing of the other answers can be had through the library; the same JSON is read without it.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet google-genai==3.6.1
env -u GOOGLE_API_KEY -u GEMINI_API_KEY "$place/env/bin/python" - <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

from google import genai
from google.genai import types
from pydantic import ValidationError

print("google-genai", version("google-genai"))
answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "70"}]}, "finishReason": "STOP"}]}
wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
error = {"code": 8, "message": "Quota exceeded", "details": [wait]}


class Handler(BaseHTTPRequestHandler):
    details = True

    def log_message(self, *words):
        pass

    def do_GET(self):
        failed = error if self.details else {**error, "details": []}
        results = {"inlinedResponses": {"inlinedResponses": [{"response": answer}, {"error": failed}]}}
        batch = {"name": "batches/1", "metadata": {"state": "BATCH_STATE_SUCCEEDED", "output": results}}
        body = json.dumps({"operations": [batch]} if self.path.startswith("/v1/batches?") or self.path == "/v1/batches" else batch)
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url))
seen = {}
for details in (False, True):
    Handler.details = details
    for name, call in {"get": lambda: client.batches.get(name="batches/1"), "list": lambda: client.batches.list()}.items():
        try:
            call()
            seen[name, details] = "read"
        except ValidationError as refused:
            seen[name, details] = "ValidationError"
            print(f"  {name}: {refused.errors()[0]['loc']}: {refused.errors()[0]['msg']}")
print({f"{name}, details {details}": found for (name, details), found in seen.items()})
assert {found for (_, details), found in seen.items() if not details} == {"read"}
assert {found for (_, details), found in seen.items() if details} == {"ValidationError"}
PYTHON
