// Errors marked in a text, by mouse, touch or keyboard. Offsets are UTF-16 units here and code points in what is sent.
{
  const SELECTED = "chosen";
  const taken = new Map(); // texts of the page in which a question marks already, and what they held before
  let choosing = null; // in the one question in which words are chosen

  const codePoints = (text, units) => [...text.slice(0, units)].length;
  const units = (text, points) => [...text].slice(0, points).join("").length;

  function wordsOf(text, language) {
    if ("Segmenter" in Intl) {
      const segments = new Intl.Segmenter(language, { granularity: "word" }).segment(text);
      return [...segments].filter((one) => one.segment.trim()).map((one) => [one.index, one.index + one.segment.length]);
    }
    return [...text.matchAll(/\S+/g)].map((one) => [one.index, one.index + one[0].length]);
  }

  function made(name, className, text) {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // The text above the question, or a copy of it where another question marks there already.
  function surfaceOf(question, text) {
    const stage = question.closest(".stage");
    const bodies = stage ? [...stage.querySelectorAll(".exhibit .body")] : [];
    let surface = bodies.findLast((body) => body.textContent === text && !taken.has(body) && !body.closest("details"));
    if (!surface) {
      const shown = bodies.find((body) => body.textContent === text);
      surface = made("div", "body", shown ? undefined : text);
      if (shown) {
        surface.className = shown.className;
        surface.append(...(taken.get(shown) ?? shown).cloneNode(true).childNodes);
      }
      surface.dir = shown?.dir ?? "auto";
      question.querySelector(".hint").after(surface);
    }
    taken.set(surface, surface.cloneNode(true));
    surface.classList.add("surface");
    surface.tabIndex = 0;
    surface.setAttribute("role", "group");
    surface.setAttribute("aria-label", question.querySelector("legend").textContent);
    return surface;
  }

  // Where the selection lies in a surface, without white space at its ends; null where it is elsewhere or empty.
  function selectedIn(surface, text) {
    const selection = document.getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    if (!range.intersectsNode(surface)) return null;
    const before = document.createRange();
    before.selectNodeContents(surface);
    const inside = before.cloneRange();
    if (range.compareBoundaryPoints(Range.START_TO_START, inside) > 0) inside.setStart(range.startContainer, range.startOffset);
    if (range.compareBoundaryPoints(Range.END_TO_END, inside) < 0) inside.setEnd(range.endContainer, range.endOffset);
    before.setEnd(inside.startContainer, inside.startOffset);
    let start = before.toString().length;
    let end = start + inside.toString().length;
    while (start < end && !text[start].trim()) start += 1;
    while (start < end && !text[end - 1].trim()) end -= 1;
    return start < end ? [start, end] : null;
  }

  // The letter of a surface's text under a point of the screen; -1 beside the text.
  function letterAt(surface, { clientX, clientY }) {
    const caret = document.caretPositionFromPoint?.(clientX, clientY) ?? document.caretRangeFromPoint?.(clientX, clientY);
    const [node, offset] = [caret?.offsetNode ?? caret?.startContainer, caret?.offset ?? caret?.startOffset];
    if (!surface.contains(node ?? null)) return -1;
    const range = document.createRange();
    range.selectNodeContents(surface);
    range.setEnd(node, offset);
    const place = range.toString().length;
    if (offset === 0) return place;
    range.setStart(node, offset - 1); // a caret stands on either side of the letter
    const { left, right } = range.getBoundingClientRect();
    return left <= clientX && clientX <= right ? place - 1 : place;
  }

  function activate(question) {
    const { text, hint, remove, marked, category } = question.dataset;
    const field = question.querySelector("textarea[hidden]");
    const box = question.querySelector("input[type=checkbox]");
    const severities = [...question.querySelectorAll(".severity")];
    const labels = severities.map((label) => label.dataset.value);
    const kinds = [...question.querySelectorAll(".categories li")].map((item) => item.textContent);
    for (const part of question.querySelectorAll(".lines, .categories")) part.remove();
    for (const label of severities) { // what it means stays
      if (label.textContent === label.dataset.value) label.remove();
      else label.replaceWith(made("p", "meaning", label.textContent));
    }
    box.removeAttribute("name");
    question.querySelector(".hint").textContent = hint;
    const surface = surfaceOf(question, text);
    const words = wordsOf(text, document.documentElement.lang);
    const sent = field.value || field.dataset.value;
    let marks = (sent ? JSON.parse(sent) : []).map((mark) => ("start" in mark
      ? { ...mark, start: units(text, mark.start), end: units(text, mark.end) } : mark));
    box.checked = sent === "[]";
    let chosen = null; // what the severity buttons are about
    let word = null; // [from, to] of the words under the keyboard
    let tapped = null; // [first, last] of the words that were tapped

    const list = made("ul", "marks");
    list.setAttribute("aria-label", marked);
    list.setAttribute("data-chrome", "");
    box.parentElement.before(list);
    const tools = made("div", "span-tools");
    tools.hidden = true;
    tools.setAttribute("data-chrome", "");
    tools.setAttribute("role", "toolbar");
    tools.setAttribute("aria-label", question.querySelector("legend").textContent);
    const quote = made("q");
    quote.dir = "auto";
    tools.append(quote);
    const select = made("select");
    if (kinds.length) {
      select.setAttribute("aria-label", category);
      for (const kind of ["", ...kinds]) select.append(new Option(kind || category, kind));
      tools.append(select);
    }
    for (const severity of labels) {
      const button = made("button", "", severity);
      button.type = "button";
      button.addEventListener("pointerdown", (event) => event.preventDefault()); // the selection stays
      button.addEventListener("click", () => mark(severity));
      tools.append(button);
    }
    question.append(tools);
    const status = made("p", "unseen");
    status.setAttribute("role", "status");
    status.setAttribute("data-chrome", "");
    question.append(status);

    const save = () => {
      const records = marks.map(({ start, end, ...others }) => (start === undefined ? others
        : { start: codePoints(text, start), end: codePoints(text, end), ...others }));
      field.value = marks.length ? JSON.stringify(records) : box.checked ? "[]" : "";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    };

    // Pieces between all ends of marks, each decorated by the heaviest mark over it, in whatever elements they stand.
    const drawText = () => {
      const placed = marks.filter((one) => one.start !== undefined);
      const shown = chosen ?? word?.place;
      const ends = [...placed.flatMap(({ start, end }) => [start, end]), ...(shown ?? [])];
      const cuts = [...new Set(ends)].sort((a, b) => a - b);
      const classesOf = (start, end) => {
        const over = placed.filter((one) => one.start <= start && end <= one.end);
        const within = shown && shown[0] <= start && end <= shown[1];
        return [
          over.length && "error",
          over.some((one) => labels.indexOf(one.severity) > 0) && "heavy",
          within && (chosen ? SELECTED : "word"),
        ].filter(Boolean);
      };
      surface.replaceChildren(...taken.get(surface).cloneNode(true).childNodes);
      if (!cuts.length) return;
      const walker = document.createTreeWalker(surface, NodeFilter.SHOW_TEXT);
      const nodes = [];
      while (walker.nextNode()) nodes.push(walker.currentNode);
      let place = 0;
      for (const node of nodes) {
        const [first, last] = [place, place + node.data.length];
        place = last;
        const bounds = [first, ...cuts.filter((cut) => first < cut && cut < last), last];
        const token = node.parentElement.closest("math") && node.parentElement; // signs of formulas are marked whole
        if (!node.data.trim()) continue; // between rows of a table, where no other element may stand
        const pieces = bounds.slice(1).map((end, at) => {
          const classes = classesOf(bounds[at], end);
          const said = text.slice(bounds[at], end);
          if (token) token.classList.add(...classes);
          if (token || !classes.length) return document.createTextNode(said);
          return made("span", classes.join(" "), said);
        });
        if (!token) node.replaceWith(...pieces);
      }
    };

    const draw = () => {
      drawText();
      list.replaceChildren(...marks.map((one) => {
        const item = made("li");
        const words = made("span");
        const said = made("q", "", one.start === undefined ? one.quote : text.slice(one.start, one.end));
        said.dir = "auto";
        const level = made("span", "level", ` ${[one.severity, one.category].filter(Boolean).join(", ")}`);
        words.append(said, level);
        const button = made("button", "", remove);
        button.type = "button";
        button.setAttribute("aria-label", `${remove}: ${said.textContent}`);
        button.addEventListener("click", () => {
          marks = marks.filter((other) => other !== one);
          draw();
          save();
          (list.querySelector("button") ?? surface).focus({ preventScroll: true });
        });
        item.append(words, button);
        return item;
      }));
      box.disabled = marks.length > 0;
      if (marks.length) box.checked = false;
    };

    const choose = (place, words = null) => {
      if (place && choosing !== choose) {
        choosing?.(null);
        choosing = choose;
      }
      chosen = place;
      tapped = words;
      surface.querySelectorAll(`.${SELECTED}`).forEach((piece) => piece.classList.remove(SELECTED));
      tools.hidden = !place;
      quote.textContent = place ? text.slice(...place) : "";
    };

    const mark = (severity) => {
      if (!chosen) return;
      const [start, end] = chosen;
      const record = { start, end, severity };
      if (select.value) record.category = select.value;
      select.value = "";
      marks.push(record);
      marks.sort((a, b) => (a.start ?? Infinity) - (b.start ?? Infinity));
      status.textContent = `${severity}: ${text.slice(start, end)}`;
      choose(null);
      document.getSelection().removeAllRanges();
      draw();
      save();
      surface.focus({ preventScroll: true });
    };

    document.addEventListener("selectionchange", () => {
      if (tools.contains(document.activeElement)) return;
      const place = selectedIn(surface, text);
      if (place) choose(place);
      else if (chosen && !tapped && surface.contains(document.getSelection().anchorNode)) choose(null); // a tap in the text
    });

    // A finger taps the first word of an error, then the last; a word alone is let go by another tap.
    const tap = (event) => {
      const letter = letterAt(surface, event);
      const at = words.findIndex(([start, end]) => start <= letter && letter < end);
      const alone = tapped && tapped[0] === tapped[1];
      if (at < 0 || (alone && tapped[0] === at)) choose(null);
      else {
        const [first, last] = alone ? [Math.min(tapped[0], at), Math.max(tapped[0], at)] : [at, at];
        choose([words[first][0], words[last][1]], [first, last]);
      }
      drawText();
    };
    let touched = false;
    surface.addEventListener("pointerdown", ({ pointerType }) => {
      touched = pointerType === "touch" && !selectedIn(surface, text); // a tap beside a selection lets that go
    });
    surface.addEventListener("click", (event) => {
      if (touched) tap(event);
    });
    document.addEventListener("click", ({ target }) => { // a tap beside the text lets go: the tools hide the way on
      if (!chosen || surface.contains(target) || tools.contains(target) || selectedIn(surface, text)) return;
      choose(null);
      drawText();
    });

    const move = (step, extend) => {
      if (!words.length) return;
      const last = words.length - 1;
      const at = (number) => Math.min(Math.max(number, 0), last);
      if (!word) word = { to: step === 1 ? 0 : step === -1 ? last : at(step) };
      else word.to = at(word.to + step);
      if (!extend || word.from === undefined) word.from = word.to;
      const [first, final] = [Math.min(word.from, word.to), Math.max(word.from, word.to)];
      word.place = [words[first][0], words[final][1]];
      choose(null);
      status.textContent = text.slice(...word.place);
      drawText();
      surface.querySelector(".word")?.scrollIntoView({ block: "nearest" });
    };

    surface.addEventListener("keydown", (event) => {
      const forward = getComputedStyle(surface).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
      const backward = forward === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
      const steps = { [forward]: 1, [backward]: -1, Home: -words.length, End: words.length };
      if (event.key in steps && !event.ctrlKey && !event.metaKey && !event.altKey) move(steps[event.key], event.shiftKey);
      else if (event.key === "Enter" && word) {
        choose(word.place);
        drawText();
        tools.querySelector("select, button").focus();
      } else return;
      event.preventDefault();
    });
    surface.addEventListener("blur", () => {
      if (!word || chosen) return;
      word = null;
      drawText(); // and not the list, whose button may be what was pressed
    });
    tools.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      choose(null);
      surface.focus({ preventScroll: true });
      drawText();
    });
    box.addEventListener("change", save);
    field.value = sent;
    draw();
  }

  document.querySelectorAll(".question.spans").forEach(activate);
}
