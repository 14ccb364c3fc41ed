// Commands in the composer: what may follow is offered as a list while a line begins with a slash.
// Arrows walk it, Tab or Enter completes, Escape closes it; the mouse and a finger choose directly.
// Focus stays in the text. The server carries out what was written; here is only its spelling.

const MOST = 10;
const area = document.getElementById("text");
const list = document.getElementById("offers");

// An offer is a whole command that begins as the text so far does, but for the word being written.

const known = () => JSON.parse(document.getElementById("completions").dataset.completions);

const fits = (line, [offer]) => {
  const start = line.lastIndexOf(" ") + 1;
  const word = line.slice(start).toLowerCase();
  const rest = offer.slice(start).trimEnd().toLowerCase();
  const isNext = offer.startsWith(line.slice(0, start)) && rest && !rest.includes(" ");
  return isNext && rest !== word && (start ? rest.includes(word) : rest.startsWith(word));
};

const offersFor = (line) =>
  line.startsWith("/") && !line.includes("\n") ? known().filter((offer) => fits(line, offer)).slice(0, MOST) : [];

// The list.

const chosen = () => list.querySelector("[aria-selected=true]");

const close = () => {
  list.hidden = true;
  list.replaceChildren();
  area.removeAttribute("aria-activedescendant");
};

const choose = (option) => {
  chosen()?.setAttribute("aria-selected", "false");
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  area.setAttribute("aria-activedescendant", option.id);
};

const drawn = ([offer, hint], index) => {
  const option = document.createElement("li");
  option.id = `offer-${index}`;
  option.role = "option";
  option.ariaSelected = "false";
  option.dataset.offer = offer;
  const word = document.createElement("code");
  word.textContent = offer.trimEnd().split(" ").at(-1);
  option.append(word, " ", hint);
  return option;
};

const open = () => {
  close();
  const line = area.value;
  if (area.selectionEnd !== line.length) return; // corrected in the middle: not a place to complete
  list.append(...offersFor(line).map(drawn));
  list.hidden = !list.firstElementChild;
  // A word that was begun is completed by Enter; after a blank, Enter sends.
  if (!list.hidden && !line.endsWith(" ")) choose(list.firstElementChild);
};

const complete = (option) => {
  area.value = option.dataset.offer;
  area.focus();
  area.dispatchEvent(new Event("input", { bubbles: true }));
};

const walk = (step) => {
  const all = [...list.children];
  const from = chosen() ? all.indexOf(chosen()) : step > 0 ? -1 : 0;
  choose(all.at((from + step) % all.length));
};

const KEYS = {
  ArrowDown: () => walk(1),
  ArrowUp: () => walk(-1),
  Escape: close,
  Tab: () => complete(chosen() ?? list.firstElementChild),
  Enter: () => chosen() && complete(chosen()),
};

// Taken on the way down, so that an open list's Enter sends nothing and its Escape stops nothing.
document.addEventListener("keydown", (event) => {
  const isOurs = event.target === area && !list.hidden && !event.isComposing && !event.shiftKey;
  if (!isOurs || !(event.key in KEYS) || (event.key === "Enter" && !chosen())) return;
  event.preventDefault();
  event.stopPropagation();
  KEYS[event.key]();
}, true);

document.addEventListener("input", ({ target }) => {
  if (target === area) open();
});

document.addEventListener("submit", ({ target }) => {
  if (target.matches("[data-composer]")) close();
});

document.addEventListener("focusout", ({ target }) => {
  if (target === area) close();
});

list.addEventListener("pointerdown", (event) => event.preventDefault()); // the text keeps its focus
list.addEventListener("click", ({ target }) => {
  const option = target.closest("[data-offer]");
  if (option) complete(option);
});

// What a command said goes away when it is dismissed.

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-dismiss]");
  if (!button) return;
  button.closest(".notice").remove();
  area.focus();
});

// The form of an edited question goes with its card, and the focus with it: one goes on here.

let askedAnew = null;

document.addEventListener("submit", ({ target }) => {
  if (target.matches("[data-edit-form]")) askedAnew = target;
});

const goOnInComposer = () => {
  if (!askedAnew || askedAnew.isConnected) return;
  askedAnew = null;
  if (document.activeElement === document.body) area.focus({ preventScroll: true });
};

document.addEventListener("htmx:wsAfterMessage", goOnInComposer);

// The pickers follow what was chosen by a command or on another page.

const takeEfforts = (efforts) => {
  const picker = document.getElementById("effort-pick");
  const offered = efforts.map(([value, label, isChosen]) => new Option(label, value, false, isChosen));
  const isSame = offered.map((one) => one.text).join() === [...picker.options].map((one) => one.text).join();
  if (!isSame) picker.replaceChildren(...offered);
  picker.value = efforts.find(([, , isChosen]) => isChosen)?.[0] ?? "";
  picker.parentElement.hidden = !efforts.length;
};

export const takeModel = ({ model, label, efforts }) => {
  takeEfforts(efforts);
  const picker = document.getElementById("model-pick");
  if (!picker.matches("select")) return picker.firstElementChild.replaceChildren(label);
  const known = [...picker.options].find((option) => option.value === model);
  if (known) known.text = label;
  else picker.add(new Option(label, model));
  picker.value = model;
};
