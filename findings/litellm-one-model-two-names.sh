#!/usr/bin/env bash
# litellm 1.110.2: the standard log names a model with its provider if a Router sent the call, and without it otherwise.
#
# Guess: "model" of the standard logging payload is one name for one model. Seen: a call to "openai/writer" is logged as
# "writer", and one through a Router whose deployment is "openai/writer" as "openai/writer", failed or not; and direct
# calls to "openai/writer" and "hosted_vllm/writer" are both "writer". Neither the field nor the field together with
# custom_llm_provider is a key for a model: take the provider off the front of the name first, then use both.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet litellm==1.110.2
LITELLM_LOCAL_MODEL_COST_MAP=True "$place/env/bin/python" - <<'PYTHON'
import asyncio
import json
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from threading import Thread

import litellm
from litellm.integrations.custom_logger import CustomLogger

print("litellm", version("litellm"))
litellm.suppress_debug_info = True
logged = []


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = {"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"]}
        message = {"role": "assistant", "content": "An answer."}
        reply["choices"] = [{"index": 0, "finish_reason": "stop", "message": message}]
        refused = asked["messages"][0]["content"] == "refuse"
        body = json.dumps({"error": {"message": "refused"}} if refused else reply).encode()
        self.send_response(400 if refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Log(CustomLogger):
    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        logged.append(kwargs["standard_logging_object"])

    async_log_failure_event = async_log_success_event


async def calls(base):
    litellm.callbacks = [Log()]
    deployment = {"model": "openai/writer", "api_base": base, "api_key": "none"}
    other = {**deployment, "model": "hosted_vllm/writer"}
    router = litellm.Router([{"model_name": "any", "litellm_params": deployment}], num_retries=0)
    for prompt in ("write", "refuse"):
        messages = [{"role": "user", "content": prompt}]
        for call in (
            litellm.acompletion(**deployment, messages=messages, max_retries=0),
            litellm.acompletion(**other, messages=messages, max_retries=0),
            router.acompletion("any", messages=messages),
        ):
            try:
                await call
            except litellm.BadRequestError:
                pass
    for _ in range(100):  # the log is written after the call
        if len(logged) == 6:
            break
        await asyncio.sleep(0.1)


server = HTTPServer(("127.0.0.1", 0), Server)
Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(calls(f"http://127.0.0.1:{server.server_port}/v1"))
names = Counter(
    (each["model"], each["custom_llm_provider"], each["model_group"] or "direct", each["status"]) for each in logged
)
for (model, provider, way, status), times in sorted(names.items()):
    print(f"model {model!r}, provider {provider!r}, {way}, {status}: {times}")
WAYS = [("writer", "openai", "direct"), ("writer", "hosted_vllm", "direct"), ("openai/writer", "openai", "any")]
seen = {(*way, status): 1 for way in WAYS for status in ("success", "failure")}
assert names == seen, "the library does otherwise now"
PYTHON
