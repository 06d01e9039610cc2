// The worker site works without this; here are the clock of the work in hand, local times and the frame's height.
"use strict";

const language = document.documentElement.lang;

for (const shown of document.querySelectorAll("time[data-local]")) {
  const at = new Date(shown.dateTime);
  if (!Number.isNaN(at.getTime())) {
    const style = shown.dataset.local === "date" ? { dateStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" };
    shown.textContent = new Intl.DateTimeFormat(language, style).format(at);
  }
}

// On a phone the places scroll sideways. scrollIntoView would let Tab begin there, behind the way to the content.
const here = document.querySelector(".top nav [aria-current]");
if (here) {
  const places = here.closest("nav");
  const middle = (box) => (box.left + box.right) / 2;
  places.scrollBy({ left: middle(here.getBoundingClientRect()) - middle(places.getBoundingClientRect()) });
}

const bar = document.querySelector(".bar[data-state]");
const frame = document.querySelector("iframe.hit");
const clock = document.querySelector("[data-left]");

async function lookAtState(again = 10) {
  // What the server says counts; a message from the frame only makes us ask, again where there is no answer.
  const answer = await fetch(bar.dataset.state, { headers: { accept: "application/json" } }).catch(() => null);
  if (!answer?.ok) {
    if (again) setTimeout(lookAtState, 1000, again - 1);
    return;
  }
  const state = await answer.json();
  if (state.status !== "Accepted") window.location.assign(bar.dataset.done);
}

if (clock) {
  const end = performance.now() + Number(clock.dataset.left) * 1000;
  const two = (n) => String(n).padStart(2, "0");
  const tick = () => {
    const left = Math.max(0, Math.round((end - performance.now()) / 1000));
    const hours = Math.floor(left / 3600);
    const rest = `${two(Math.floor((left % 3600) / 60))}:${two(left % 60)}`;
    clock.textContent = left === 0 ? clock.dataset.over : hours ? `${hours}:${rest}` : rest;
    clock.classList.toggle("short", left < 120);
    if (left > 0) setTimeout(tick, 1000);
    else if (bar) setTimeout(lookAtState, 1500);
  };
  tick();
}

if (frame) {
  const fixed = Number(frame.dataset.height);
  if (fixed > 0) frame.style.blockSize = `${fixed}px`;
  window.addEventListener("message", (message) => {
    if (message.source !== frame.contentWindow || typeof message.data !== "object" || message.data === null) return;
    const { type, event, height } = message.data;
    if (type !== "hit-frame") return;
    if (event === "changed" && bar) lookAtState();
    if (Number.isInteger(height) && height >= 200 && height <= 20000) frame.style.blockSize = `${height}px`;
  });
}
