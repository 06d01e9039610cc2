// A list that can be sorted, above numbers that are then hidden: they are what is sent, and stay empty until the list
// is touched or left as it is. Whether an entry shares the place of the one above it is a box on the entry.
function addSorting(question) {
  const texts = JSON.parse(question.dataset.texts);
  const list = question.querySelector(".ranks");
  const entries = () => [...list.querySelectorAll(".rank")];
  const make = (name, properties) => Object.assign(document.createElement(name), properties);
  const status = make("p", { className: "unseen" });
  status.setAttribute("role", "status");
  const buttons = make("p", { className: "order-buttons" });
  const [confirm, leave] = ["confirm", "leave"].map((name) => make("button", { type: "button", className: `${name}-order`, textContent: texts[name] }));
  const box = (entry) => entry.querySelector(".whole-number");
  const tie = (entry) => entry.querySelector(".tie input");
  const name = (entry) => entry.querySelector("label").textContent;
  let answered = false;
  let confirmed = false;

  const show = () => {
    const held = question.querySelector(".dragged"); // nothing grows under a finger
    entries().forEach((entry, place, all) => {
      if (!held) tie(entry).parentElement.hidden = place === 0;
      entry.classList.toggle("tied", place > 0 && tie(entry).checked);
      entry.querySelector(".place").textContent = answered ? texts.place.replace("{number}", box(entry).value) : texts.unranked;
      entry.querySelector(".up").setAttribute("aria-disabled", place === 0);
      entry.querySelector(".down").setAttribute("aria-disabled", place === all.length - 1);
    });
    confirm.disabled = !answered && Boolean(texts.leave);
    leave.hidden = answered || !texts.leave;
    buttons.hidden = confirmed;
  };
  const take = (moved) => {
    let rank = 1;
    entries().forEach((entry, place) => {
      if (place > 0 && !tie(entry).checked) rank = place + 1;
      box(entry).value = rank;
    });
    answered = true;
    status.classList.add("unseen");
    show();
    if (moved) status.textContent = texts.moved.replace("{name}", name(moved)).replace("{number}", box(moved).value);
    list.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const move = (entry, step) => {
    const other = step < 0 ? entry.previousElementSibling : entry.nextElementSibling;
    if (!other) return;
    if (step < 0) entry.after(other); // the other one moves, so that this one keeps focus and pointer
    else entry.before(other);
    tie(entry).checked = false;
    tie(other).checked = false;
    take(entry);
  };
  const drag = (entry, handle) => {
    handle.addEventListener("touchstart", (event) => event.preventDefault()); // Chromium loses the tap after a fling
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      handle.setPointerCapture(event.pointerId);
      entry.classList.add("dragged");
    });
    handle.addEventListener("pointermove", ({ clientY, pointerId }) => {
      if (!handle.hasPointerCapture(pointerId)) return;
      // of the handle: entries differ in height
      const middle = ({ firstElementChild: grip }) => grip.getBoundingClientRect().top + grip.offsetHeight / 2;
      // a quick finger passes several entries between two events
      while (entry.previousElementSibling && clientY < middle(entry.previousElementSibling)) move(entry, -1);
      while (entry.nextElementSibling && clientY > middle(entry.nextElementSibling)) move(entry, 1);
    });
    handle.addEventListener("lostpointercapture", () => {
      entry.classList.remove("dragged");
      show();
    });
  };
  // What the numbers say already: answers of before, or restored ones.
  const read = () => {
    const rank = (entry) => numberIn(box(entry));
    answered = confirmed = entries().every((entry) => numberIn(box(entry)) !== null);
    if (answered) {
      list.append(...entries().sort((one, other) => rank(one) - rank(other)));
      entries().forEach((entry, place, all) => { tie(entry).checked = place > 0 && rank(entry) === rank(all[place - 1]); });
    }
    show();
  };

  for (const entry of entries()) {
    const handle = make("span", { className: "handle", textContent: "\u2807" });
    handle.setAttribute("aria-hidden", "true");
    const label = make("label", { className: "tie" });
    label.append(make("input", { type: "checkbox", autocomplete: "off" }), texts.tie);
    label.firstChild.addEventListener("change", (event) => {
      event.stopPropagation();
      take(entry);
    });
    const arrows = ["up", "down"].map((way) => {
      const button = make("button", { type: "button", className: way, textContent: way === "up" ? "\u2191" : "\u2193" });
      button.setAttribute("aria-label", texts[way].replace("{name}", name(entry)));
      button.addEventListener("click", () => move(entry, way === "up" ? -1 : 1));
      return button;
    });
    entry.prepend(handle);
    entry.append(make("span", { className: "place" }), ...arrows, label);
    box(entry).hidden = true;
    drag(entry, handle);
  }
  for (const button of [confirm, leave]) {
    button.addEventListener("click", () => {
      confirmed = true;
      take();
      status.textContent = texts.confirmed;
      status.classList.remove("unseen");
      list.focus();
    });
  }
  buttons.append(confirm, leave);
  question.querySelector(".order-help").textContent = texts.help;
  list.after(buttons, status);
  question.classList.add("sortable");
  window.addEventListener("pageshow", read);
  read();
}
