#!/usr/bin/env bash
# google-genai 3.6.1: with aiohttp installed, a paid call whose connection breaks off is sent a second time.
#
# Guess: without retry_options a call of generate_content is one request: a 503 is raised at once. Seen: where aiohttp is
# installed, for whatever reason, the asynchronous client uses it; if the server works on the request and the connection
# ends before the answer is through, the client waits 1 to 10 seconds and sends the request again. Both are charged, the
# caller sees one. HttpRetryOptions(attempts=1), the documented way to say "once", stops it; so does aiohttp's absence.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet google-genai==3.6.1 aiohttp==3.14.5
env -u GOOGLE_API_KEY -u GEMINI_API_KEY "$place/env/bin/python" - <<'PYTHON'
import asyncio
from importlib.metadata import version

from google import genai
from google.genai import types

print("google-genai", version("google-genai"), "aiohttp", version("aiohttp"))


async def requests_for(**options):
    arrived = 0

    async def serve(reader, writer):
        nonlocal arrived
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(int(line.partition(":")[2]) for line in head.split("\r\n") if line.startswith("content-length"))
        await reader.readexactly(length)
        arrived += 1  # the answer would be paid for by now
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url, **options))
    try:
        await client.aio.models.generate_content(model="m", contents="Which?")
    except Exception as error:
        print(f"  the caller sees one {type(error).__name__}")
    await client.aio.aclose()
    server.close()
    return arrived


by_default = asyncio.run(requests_for())
once = asyncio.run(requests_for(retry_options=types.HttpRetryOptions(attempts=1)))
print(f"requests that arrived for one call: {by_default} by default, {once} with attempts=1")
assert (by_default, once) == (2, 1)
PYTHON
