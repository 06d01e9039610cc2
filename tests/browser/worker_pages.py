"""Pages of HITs for the browser: some as they were written for years, some that mean harm, and a page elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, Response

# Written against the service: its address stands in the form, its helper script is loaded, the id is filled by it.
WITH_HELPER = """<!DOCTYPE html>
<html><head><title>HIT</title><meta http-equiv='Content-Type' content='text/html; charset=UTF-8'/>
<script type='text/javascript' src='https://s3.amazonaws.com/mturk-public/externalHIT_v1.js'></script></head>
<body>
<form name='mturk_form' method='post' id='mturk_form' action='https://www.mturk.com/mturk/externalSubmit'>
<input type='hidden' value='' name='assignmentId' id='assignmentId'/>
<h1>How does this sentence feel?</h1><p>The tide came in.</p>
<label><input type='radio' name='mood' value='glad'> Glad</label>
<label><input type='radio' name='mood' value='sad'> Sad</label>
<label><input type='checkbox' name='why' value='words'> its words</label>
<label><input type='checkbox' name='why' value='rhythm'> its rhythm</label>
<p><textarea name='comment' cols='60' rows='3' aria-label='Comment'></textarea></p>
<p><input type='submit' id='submitButton' value='Submit' /></p></form>
<script language='Javascript'>turkSetAssignmentID();</script>
</body></html>"""

# A reader of the address of its own, and a form that is sent by script to wherever the page was told.
WITH_OWN_READER = """<html><head><script>
function gup(name) {
  var found = new RegExp("[\\\\?&]" + name + "=([^&#]*)").exec(window.location.href);
  return found === null ? "" : decodeURIComponent(found[1]);
}
function ready() {
  var preview = gup("assignmentId") === "ASSIGNMENT_ID_NOT_AVAILABLE";
  document.getElementById("go").disabled = preview;
  document.getElementById("note").innerHTML = preview ? "Please accept this HIT" : "worker " + gup("workerId");
}
function send() {
  if (document.getElementById("stars").value === "") { alert("Please answer"); return; }
  var form = document.getElementById("answers");
  form.action = gup("turkSubmitTo") + "/mturk/externalSubmit";
  document.getElementById("assignmentId").value = gup("assignmentId");
  form.submit();
}
</script></head><body onload="ready()"><p id="note"></p>
<form id="answers" method="POST"><input type="hidden" id="assignmentId" name="assignmentId">
Stars <input id="stars" name="stars"><input type="button" id="go" value="Done" onclick="send()"></form>
</body></html>"""

# Only markup and inline handlers; the address of the sandbox; a hidden hitId; a field for files left empty.
WITH_FILE_FIELD = """<form action="https://workersandbox.mturk.com/mturk/externalSubmit" method="POST"
 enctype="multipart/form-data" onsubmit="this.assignmentId.value=location.search.match(/assignmentId=([A-Z0-9_]+)/)[1]">
<input name="assignmentId" type="hidden"><input name="hitId" type="hidden" value="?">
<select name="colour" aria-label="Colour"><option value="">?</option><option value="blue">Blue</option></select>
<input type="file" name="photo"><button>Submit HIT</button></form>"""


def hostile(attempts: str) -> str:
    """Return a page that tries things one after the other and writes down what came of each.

    Parameters
    ----------
    attempts : str
        Lines ``name: () => value`` of a JavaScript object; each may be asynchronous.
    """
    return (
        """<!doctype html><html><body><pre id="report"></pre>
<form id="f" method="post"><input name="x" value="1"></form>
<script>
const attempts = {"""
        + attempts
        + """};
(async () => {
  const report = {};
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      const came = await Promise.race([attempt(), new Promise((done) => setTimeout(() => done("waiting"), 3000))]);
      report[name] = came === null ? "nothing" : String(came).slice(0, 80);
    } catch (error) { report[name] = "refused: " + error.name; }
  }
  document.getElementById("report").textContent = JSON.stringify(report);
  document.getElementById("report").dataset.done = "yes";
})();
</script></body></html>"""
    )


def elsewhere(page: Callable[[Request], str]) -> FastAPI:
    """Return a site of somebody else's that shows a page; what it is sent with each request is kept."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.cookies = []

    async def show(request: Request) -> Response:
        app.state.cookies.append(request.headers.get("cookie"))
        return HTMLResponse(page(request))

    app.add_route("/{path:path}", show, methods=["GET"])
    return app


def read_report(text: str) -> dict[str, str]:
    """Return what a hostile page wrote down."""
    report: dict[str, str] = json.loads(text)
    return report
