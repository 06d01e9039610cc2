// Answers that the server does not have yet, and the way to another device. Runs before form.js, whose sliders show the
// answers that are restored here, and whose check of what was read comes before anything is sent.
"use strict";

(() => {
  const script = document.currentScript?.src; // costs the server least
  const form = document.querySelector("form[data-page]");
  const action = form?.getAttribute("action");
  const KEPT = "answers:"; // names of what the browser keeps
  const keptName = `${KEPT}${action}`;
  const PATIENCE = 8000; // milliseconds, as all below
  const CHECK_EVERY = 10000; // while answers change
  const CHECK_LOST_EVERY = 2500;

  // What a browser keeps by a name; nothing where it does not allow that.
  function keep(storage, name, value) {
    try {
      if (value === null) window[storage].removeItem(name);
      else window[storage].setItem(name, JSON.stringify(value));
    } catch { /* storage is switched off or full */ }
  }

  function takeOut(storage, name) {
    try {
      return JSON.parse(window[storage].getItem(name));
    } catch {
      return null;
    } finally {
      keep(storage, name, null);
    }
  }

  // Nothing stays on a device that others may use once a visit has ended.
  function forgetAll() {
    for (const storage of ["localStorage", "sessionStorage"]) {
      try {
        for (const name of Object.keys(window[storage])) if (name.startsWith(KEPT)) window[storage].removeItem(name);
      } catch { /* storage is switched off */ }
    }
  }

  // Answers that were given on this page before and did not arrive; returns whether the connection had been lost.
  function restoreAnswers() {
    const sent = takeOut("sessionStorage", keptName);
    const unsent = takeOut("localStorage", keptName);
    const fields = unsent ?? sent;
    if (!fields) return false;
    for (const input of form.elements) {
      if (!input.name || input.type === "hidden") continue;
      const value = fields[input.name] ?? "";
      if (input.type === "radio" || input.type === "checkbox") input.checked = input.value === value;
      else input.value = value;
    }
    if ("reading" in form.dataset && fields.reading) form.dataset.reading = fields.reading;
    return unsent !== null;
  }

  async function isReachable() {
    if (self.origin === "null") return true; // a frame that may not ask
    try {
      return (await fetch(script, { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(PATIENCE) })).ok;
    } catch {
      return false;
    }
  }

  // Answers are sent as a draft when a page is left without its button (a reload, a closed tab, another app). While the
  // server cannot be reached they are kept in the browser, and whatever was to be sent is sent when it is back.
  function keepAnswers(wasLost) {
    const status = document.querySelector(".connection");
    let changed = false;
    let lost = false;
    let checked = performance.now();
    let waiting = null; // the button that was pressed
    let passes = false; // this submission goes through
    let busy = false;

    const fields = () => new URLSearchParams(new FormData(form));
    const declines = (button) => button?.getAttribute("formaction")?.endsWith("go=decline") ?? false;
    const say = (name) => { if (status) status.textContent = name ? status.dataset[name] : ""; };
    const lose = () => {
      lost = true;
      if (!declines(waiting)) keep("localStorage", keptName, Object.fromEntries(fields()));
      say("unsent");
    };
    const submit = (button, delayed) => {
      keep("localStorage", keptName, null);
      if (declines(button)) forgetAll();
      else if (!("last" in form.dataset)) keep("sessionStorage", keptName, Object.fromEntries(fields()));
      if (delayed) keep("sessionStorage", `${KEPT}saved`, true);
      changed = false;
      passes = true;
      form.requestSubmit(button);
    };
    const sendDraft = async () => {
      const answer = await fetch(`${action}?go=stay`, { method: "POST", body: fields(), signal: AbortSignal.timeout(PATIENCE) });
      if (!answer.ok) throw new Error(answer.status);
      changed = false;
    };
    const goOn = async () => {
      if (!lost || busy) return;
      busy = true;
      try {
        if (!(await isReachable())) return;
        if (waiting) {
          submit(waiting, true);
        } else {
          await sendDraft();
          keep("localStorage", keptName, null);
          say("saved");
        }
        lost = false;
      } catch { /* gone again */ } finally {
        busy = false;
      }
      if (!lost && !passes && waiting) form.requestSubmit(waiting); // pressed meanwhile
    };
    const note = async () => {
      changed = true;
      if (lost) {
        lose();
      } else if (performance.now() - checked > CHECK_EVERY) {
        checked = performance.now();
        if (!(await isReachable())) lose();
      }
    };
    const leave = () => {
      if (!changed || lost) return;
      changed = false;
      navigator.sendBeacon(`${action}?go=stay`, fields());
    };
    form.addEventListener("change", note);
    form.addEventListener("input", note);
    form.addEventListener("submit", async (event) => {
      if (passes) return;
      event.preventDefault();
      waiting = event.submitter;
      if (busy) return;
      busy = true;
      const reachable = await isReachable();
      busy = false;
      if (reachable) submit(waiting, lost);
      else lose();
    });
    document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") leave(); });
    window.addEventListener("pagehide", leave);
    window.addEventListener("pageshow", () => { passes = false; });
    window.addEventListener("offline", () => { if (changed) lose(); });
    window.addEventListener("online", goOn);
    setInterval(goOn, CHECK_LOST_EVERY);
    document.querySelector(".pause")?.addEventListener("toggle", () => { if (changed && !lost) sendDraft().catch(lose); });
    if (takeOut("sessionStorage", `${KEPT}saved`)) say("saved");
    if (wasLost) {
      lose();
      goOn();
    }
  }

  function offerCopy() {
    const button = document.querySelector(".pause button");
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const address = document.querySelector(".pause input");
      address.select();
      try {
        await navigator.clipboard.writeText(address.value);
      } catch {
        document.execCommand("copy"); // pages without https
      }
      button.textContent = button.dataset.copied;
    });
  }

  if (!form) {
    if ("ended" in document.body.dataset) forgetAll();
  } else if (!("preview" in form.dataset)) {
    const wasLost = restoreAnswers();
    document.addEventListener("DOMContentLoaded", () => { keepAnswers(wasLost); });
    offerCopy();
  }
})();
