// Tells the page around this frame that something was decided here; that page then asks the server what it was.
"use strict";
window.parent.postMessage({ type: "hit-frame", event: "changed" }, "*");
