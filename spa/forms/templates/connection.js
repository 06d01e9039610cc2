// Keeps answers in the browser until the server has them, and offers the link for another device. Runs before form.js:
// its sliders show the answers that are restored here, and its check of what was read comes before anything is sent.
"use strict";

(() => {
  const form = document.querySelector("form[data-page]");
  const action = form?.getAttribute("action").split("?")[0];
  const PREFIX = "answers:"; // of names in the browser's storage
  const storageName = `${PREFIX}${action}`;
  const TIMEOUT = 15000; // milliseconds
  const SEND_AGAIN_EVERY = 2500;
  const [SEEN, AT] = [" seen", " at"]; // beside the answers in the storage: no question is called so

  // How often the page had been sent when it was shown: so the server keeps what came from another tab or device since.
  const seen = () => /[?&]seen=([0-9]+)/.exec(form.getAttribute("action"))?.[1] ?? null;

  function setSeen(times) {
    if (times === null) return;
    const written = (address) => address.replace(/([?&]seen=)[0-9]+/, `$1${times}`);
    form.setAttribute("action", written(form.getAttribute("action")));
    for (const button of form.querySelectorAll("[formaction]")) {
      button.setAttribute("formaction", written(button.getAttribute("formaction")));
    }
  }

  // Stores a value under a name, or removes it; does nothing where the browser allows no storage.
  function store(storage, name, value) {
    try {
      if (value === null) window[storage].removeItem(name);
      else window[storage].setItem(name, JSON.stringify(value));
    } catch { /* storage is switched off or full */ }
  }

  function load(storage, name) {
    try {
      return JSON.parse(window[storage].getItem(name));
    } catch {
      return null;
    }
  }

  // Nothing stays on a device that others may use once a visit has ended.
  function clearStored() {
    for (const storage of ["localStorage", "sessionStorage"]) {
      try {
        for (const name of Object.keys(window[storage])) if (name.startsWith(PREFIX)) window[storage].removeItem(name);
      } catch { /* storage is switched off */ }
    }
  }

  // Shows answers that were given on this page before and did not arrive; returns whether there are any. What the
  // page was sent with elsewhere since stays: all of it that is later, else where nothing was given here.
  function restoreAnswers() {
    const fields = load("localStorage", storageName);
    if (!fields) return false;
    const elsewhere = SEEN in fields && fields[SEEN] !== seen();
    const later = elsewhere && fields[AT] < Number(form.dataset.received ?? 0);
    const given = new Set([...new FormData(form)].filter(([, value]) => value !== "").map(([name]) => name));
    let differ = false;
    for (const input of form.elements) {
      if (!input.name || input.type === "hidden") continue;
      const value = fields[input.name] ?? "";
      if (elsewhere && (value === "" || (later && given.has(input.name)))) continue;
      const property = input.type === "radio" || input.type === "checkbox" ? "checked" : "value";
      const restored = property === "checked" ? input.value === value : value;
      differ ||= input[property] !== restored;
      input[property] = restored;
    }
    if ("reading" in form.dataset && fields.reading) form.dataset.reading = fields.reading;
    if (!differ) store("localStorage", storageName, null); // they did arrive, and only the response was lost
    return differ;
  }

  // A page is sent by this script, which continues once the server says that it has it; until then the answers are
  // stored, and sent again: twice counts once. They are sent as a draft when a page is left without its
  // button (a reload, a closed tab, another app).
  function keepAnswers(unsent) {
    const status = document.querySelector(".connection");
    const mayFetch = self.origin !== "null"; // a frame that may not fetch leaves the sending to the browser
    let changes = 0;
    let sent = 0; // how many changes are at the server, or on their way
    let lost = false;
    let waiting = null; // the button that was pressed
    let clicked = null; // the last one, for browsers whose submissions do not name it
    let passes = false; // this submission goes through
    let busy = false;

    const fields = () => new URLSearchParams(new FormData(form));
    const declines = (button) => button?.getAttribute("formaction")?.endsWith("go=decline") ?? false;
    const say = (name) => { if (status) status.textContent = name ? status.dataset[name] : ""; };
    const storeFields = () => {
      const kept = { ...Object.fromEntries(fields()), [SEEN]: seen(), [AT]: Date.now() };
      if (!declines(waiting)) store("localStorage", storageName, kept);
    };
    const markUnsent = () => {
      if (!mayFetch) return;
      lost = true;
      sent = -1;
      storeFields();
      say("unsent");
    };
    const post = async (address, options = {}) => {
      const change = sent = changes;
      const headers = { accept: "application/json" };
      const late = new AbortController(); // AbortSignal.timeout is younger than phones that are in use
      setTimeout(() => late.abort(), TIMEOUT);
      const { signal } = late;
      const answer = await fetch(address, { method: "POST", body: fields(), headers, signal, ...options });
      setSeen(answer.headers.get("seen"));
      if (answer.status >= 500 || answer.status === 429) throw new Error(answer.status);
      const taken = answer.status !== 409 && answer.status !== 413; // else the entries stay here alone
      if (taken && change === changes) store("localStorage", storageName, null);
      return answer;
    };
    const submit = (button) => {
      if (form.requestSubmit) form.requestSubmit(button);
      else (button ?? form.querySelector("button:not([formaction])")).click();
    };
    const draft = () => `${action}?${seen() === null ? "" : `seen=${seen()}&`}go=stay`;
    const sendDraft = (options) => post(draft(), options);
    const sendPage = async (button) => {
      const answer = await post(button?.getAttribute("formaction") ?? form.getAttribute("action"));
      const next = answer.ok ? (await answer.json()).next : null;
      if (declines(button) || (answer.ok && "last" in form.dataset)) clearStored();
      if (lost) store("sessionStorage", `${PREFIX}saved`, true);
      passes = true;
      if (next) window.location.assign(next);
      else if (answer.status === 422) window.location.replace(`${action}?script&marked`); // no step of the history
      else submit(button); // for the page that says what is wrong
    };
    const resend = async () => {
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
      } catch { /* still offline */ } finally {
        busy = false;
      }
      if (!lost && !passes && waiting) submit(waiting); // pressed meanwhile
    };
    const noteChange = () => {
      changes += 1;
      storeFields();
    };
    const leave = () => {
      if (sent === changes || lost || passes) return;
      if (mayFetch) sendDraft({ keepalive: true }).catch(markUnsent);
      else if (navigator.sendBeacon(draft(), fields())) sent = changes;
    };
    form.addEventListener("change", noteChange);
    form.addEventListener("input", noteChange);
    form.addEventListener("click", (event) => { clicked = event.target.closest("button") ?? clicked; });
    form.addEventListener("submit", async (event) => {
      if (passes || !mayFetch) return;
      event.preventDefault();
      waiting = event.submitter ?? clicked;
      if (busy) return;
      busy = true;
      try {
        await sendPage(waiting);
      } catch {
        markUnsent();
      } finally {
        busy = false;
      }
    });
    document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") leave(); });
    window.addEventListener("pagehide", leave);
    window.addEventListener("pageshow", () => { passes = false; });
    window.addEventListener("offline", () => { if (changes) markUnsent(); });
    window.addEventListener("online", resend);
    setInterval(resend, SEND_AGAIN_EVERY);
    document.querySelector(".pause")?.addEventListener("toggle", leave);
    if (load("sessionStorage", `${PREFIX}saved`)) say("saved");
    store("sessionStorage", `${PREFIX}saved`, null);
    if (unsent) {
      markUnsent();
      resend();
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
    if ("ended" in document.body.dataset) clearStored();
  } else if (!("preview" in form.dataset)) {
    const unsent = restoreAnswers();
    document.addEventListener("DOMContentLoaded", () => { keepAnswers(unsent); });
    offerCopy();
  }
})();
