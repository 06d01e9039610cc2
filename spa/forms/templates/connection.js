// Answers stay in the browser until the server has them; and the way to another device. Runs before form.js, whose
// sliders show the answers that are restored here, and whose check of what was read comes before anything is sent.
"use strict";

(() => {
  const form = document.querySelector("form[data-page]");
  const action = form?.getAttribute("action");
  const KEPT = "answers:"; // names of what the browser keeps
  const keptName = `${KEPT}${action}`;
  const PATIENCE = 15000; // milliseconds, as below
  const SEND_AGAIN_EVERY = 2500;

  // What a browser keeps by a name; nothing where it does not allow that.
  function keep(storage, name, value) {
    try {
      if (value === null) window[storage].removeItem(name);
      else window[storage].setItem(name, JSON.stringify(value));
    } catch { /* storage is switched off or full */ }
  }

  function kept(storage, name) {
    try {
      return JSON.parse(window[storage].getItem(name));
    } catch {
      return null;
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

  // Shows answers that were given on this page before and did not arrive; returns whether there are any.
  function restoreAnswers() {
    const fields = kept("localStorage", keptName);
    if (!fields) return false;
    let differ = false;
    for (const input of form.elements) {
      if (!input.name || input.type === "hidden") continue;
      const value = fields[input.name] ?? "";
      const property = input.type === "radio" || input.type === "checkbox" ? "checked" : "value";
      const given = property === "checked" ? input.value === value : value;
      differ ||= input[property] !== given;
      input[property] = given;
    }
    if ("reading" in form.dataset && fields.reading) form.dataset.reading = fields.reading;
    if (!differ) keep("localStorage", keptName, null); // they did arrive, and only the word of it was lost
    return differ;
  }

  // A page is sent by this script, which goes on once the server says that it has it; until then the answers are kept,
  // and what was to be sent is sent again: twice counts once. They are sent as a draft when a page is left without its
  // button (a reload, a closed tab, another app).
  function keepAnswers(unsent) {
    const status = document.querySelector(".connection");
    const mayAsk = self.origin !== "null"; // a frame that may not leaves the sending to the browser
    let changes = 0;
    let sent = 0; // how many changes are at the server, or on their way
    let lost = false;
    let waiting = null; // the button that was pressed
    let passes = false; // this submission goes through
    let busy = false;

    const fields = () => new URLSearchParams(new FormData(form));
    const declines = (button) => button?.getAttribute("formaction")?.endsWith("go=decline") ?? false;
    const say = (name) => { if (status) status.textContent = name ? status.dataset[name] : ""; };
    const keepFields = () => {
      if (!declines(waiting)) keep("localStorage", keptName, Object.fromEntries(fields()));
    };
    const lose = () => {
      if (!mayAsk) return;
      lost = true;
      sent = -1;
      keepFields();
      say("unsent");
    };
    const post = async (address, options = {}) => {
      const change = sent = changes;
      const headers = { accept: "application/json" };
      const signal = AbortSignal.timeout(PATIENCE);
      const answer = await fetch(address, { method: "POST", body: fields(), headers, signal, ...options });
      if (answer.status >= 500 || answer.status === 429) throw new Error(answer.status);
      if (change === changes) keep("localStorage", keptName, null);
      return answer;
    };
    const sendDraft = (options) => post(`${action}?go=stay`, options);
    const sendPage = async (button) => {
      const answer = await post(button?.getAttribute("formaction") ?? action);
      const next = answer.ok ? (await answer.json()).next : null;
      if (declines(button) || "last" in form.dataset) forgetAll();
      if (lost) keep("sessionStorage", `${KEPT}saved`, true);
      passes = true;
      if (next) window.location.assign(next);
      else form.requestSubmit(button); // for the page that says what is amiss
    };
    const goOn = async () => {
      if (!lost || busy) return;
      busy = true;
      try {
        if (waiting) {
          await sendPage(waiting);
        } else {
          await sendDraft();
          say("saved");
        }
        lost = false;
      } catch { /* still gone */ } finally {
        busy = false;
      }
      if (!lost && !passes && waiting) form.requestSubmit(waiting); // pressed meanwhile
    };
    const note = () => {
      changes += 1;
      keepFields();
    };
    const leave = () => {
      if (sent === changes || lost || passes) return;
      if (mayAsk) sendDraft({ keepalive: true }).catch(lose);
      else if (navigator.sendBeacon(`${action}?go=stay`, fields())) sent = changes;
    };
    form.addEventListener("change", note);
    form.addEventListener("input", note);
    form.addEventListener("submit", async (event) => {
      if (passes || !mayAsk) return;
      event.preventDefault();
      waiting = event.submitter;
      if (busy) return;
      busy = true;
      try {
        await sendPage(waiting);
      } catch {
        lose();
      } finally {
        busy = false;
      }
    });
    document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") leave(); });
    window.addEventListener("pagehide", leave);
    window.addEventListener("pageshow", () => { passes = false; });
    window.addEventListener("offline", () => { if (changes) lose(); });
    window.addEventListener("online", goOn);
    setInterval(goOn, SEND_AGAIN_EVERY);
    document.querySelector(".pause")?.addEventListener("toggle", leave);
    if (kept("sessionStorage", `${KEPT}saved`)) say("saved");
    keep("sessionStorage", `${KEPT}saved`, null);
    if (unsent) {
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
    const unsent = restoreAnswers();
    document.addEventListener("DOMContentLoaded", () => { keepAnswers(unsent); });
    offerCopy();
  }
})();
