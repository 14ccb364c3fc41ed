// Completion of slash commands in the composer: a list box while the text is one line that begins with a slash.
// Arrows move, Tab or Enter completes, Escape closes; focus stays in the text. The server parses the command.
// Loaded by composer.js.

const MAX_OFFERS = 10;
const textarea = document.getElementById("text");
const list = document.getElementById("offers");

// [command, hint] each. Read again after a command, which may have saved or deleted a profile.
let completions = null;

const readCompletions = async () => {
  const response = await fetch(list.dataset.url).catch(() => null);
  if (response?.ok) return response.json();
  completions = null; // offline: nothing is completed
  return [];
};

// A completion is a whole command: offered if it equals the line up to the word being typed and continues that word.
const matches = (line, [command]) => {
  const start = line.lastIndexOf(" ") + 1;
  const word = line.slice(start).toLowerCase();
  const rest = command.slice(start).trimEnd().toLowerCase();
  const isNextWord = command.startsWith(line.slice(0, start)) && rest && !rest.includes(" ");
  return isNextWord && rest !== word && (start ? rest.includes(word) : rest.startsWith(word));
};

const selectedOption = () => list.querySelector("[aria-selected=true]");

const close = () => {
  list.hidden = true;
  list.replaceChildren();
  textarea.removeAttribute("aria-activedescendant");
};

const select = (option) => {
  selectedOption()?.setAttribute("aria-selected", "false");
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  textarea.setAttribute("aria-activedescendant", option.id);
};

const createOption = ([command, hint], index) => {
  const option = document.createElement("li");
  option.id = `offer-${index}`;
  option.role = "option";
  option.ariaSelected = "false";
  option.dataset.offer = command;
  const word = document.createElement("code");
  word.textContent = command.trimEnd().split(" ").at(-1);
  option.append(word, " ", hint);
  return option;
};

const open = async () => {
  close();
  const line = textarea.value;
  if (textarea.selectionEnd !== line.length) return; // no completion in the middle of a line
  if (!line.startsWith("/") || line.includes("\n")) return;
  completions ??= readCompletions();
  const all = await completions;
  if (textarea.value !== line || document.activeElement !== textarea) return;
  close();
  const offers = all.filter((completion) => matches(line, completion)).slice(0, MAX_OFFERS);
  list.append(...offers.map(createOption));
  list.hidden = !offers.length;
  // Preselect while a word is being typed, so that Enter completes it; after a space Enter sends.
  if (offers.length && !line.endsWith(" ")) select(list.firstElementChild);
};

const complete = (option) => {
  textarea.value = option.dataset.offer;
  textarea.focus();
  textarea.dispatchEvent(new Event("input", { bubbles: true }));
};

const moveSelection = (step) => {
  const options = [...list.children];
  const from = selectedOption() ? options.indexOf(selectedOption()) : step > 0 ? -1 : 0;
  select(options.at((from + step) % options.length));
};

const KEYS = {
  ArrowDown: () => moveSelection(1),
  ArrowUp: () => moveSelection(-1),
  Escape: close,
  Tab: () => complete(selectedOption() ?? list.firstElementChild),
  Enter: () => selectedOption() && complete(selectedOption()),
};

// In the capture phase, so that Enter in an open list doesn't send and Escape doesn't stop the answer.
document.addEventListener("keydown", (event) => {
  const isOurs = event.target === textarea && !list.hidden && !event.isComposing && !event.shiftKey;
  if (!isOurs || !(event.key in KEYS) || (event.key === "Enter" && !selectedOption())) return;
  event.preventDefault();
  event.stopPropagation();
  KEYS[event.key]();
}, true);

document.addEventListener("input", ({ target }) => {
  if (target === textarea) open();
});

document.addEventListener("submit", ({ target }) => {
  if (!target.matches("[data-composer]")) return;
  close();
  completions = null;
});

document.addEventListener("focusout", ({ target }) => {
  if (target === textarea) close();
});

list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus in the text
list.addEventListener("click", ({ target }) => {
  const option = target.closest("[data-offer]");
  if (option) complete(option);
});

open();
