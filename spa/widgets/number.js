// A slider beside each number box. It has no name, so only the box is sent, and it stands
// nowhere until it is touched: an untouched slider is no answer.
function addSlider(question) {
  const box = question.querySelector(".whole-number");
  const [low, high] = [Number(box.dataset.low), Number(box.dataset.high)];
  const slider = document.createElement("input");
  slider.type = "range";
  Object.assign(slider, { min: low, max: high, step: 1 });
  slider.setAttribute("aria-labelledby", `${box.id}-asked`);
  slider.setAttribute("aria-describedby", `${box.id}-ends`);
  slider.setAttribute("data-chrome", "");
  slider.className = "slider";
  slider.autocomplete = "off";

  const show = () => {
    const number = numberIn(box);
    const answered = number !== null;
    slider.classList.toggle("untouched", !answered);
    slider.value = String(answered ? number : (low + high) / 2);
    const share = (Number(slider.value) - low) / (high - low);
    slider.style.setProperty("--share", answered ? `${share * 100}%` : "0%");
    if (answered) slider.removeAttribute("aria-valuetext");
    else slider.setAttribute("aria-valuetext", question.dataset.untouched);
  };
  const take = () => {
    box.value = slider.value;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  };
  slider.addEventListener("input", take);
  let before = "";
  slider.addEventListener("pointerdown", () => (before = box.value));
  slider.addEventListener("pointercancel", () => { // the finger scrolls the page: the browser keeps what it touched
    box.value = before;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  });
  slider.addEventListener("click", take); // a click on the very middle moves nothing, and is an answer all the same
  slider.addEventListener("keydown", (event) => {
    if (event.key === " ") {
      event.preventDefault();
      take();
    }
  });
  box.addEventListener("input", show);
  window.addEventListener("pageshow", show);
  question.querySelector(".controls").prepend(slider);
  question.classList.add("with-slider");
  show();
}
