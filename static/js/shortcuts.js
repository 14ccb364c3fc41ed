// Keyboard shortcuts, the dialog that lists them, and the choices about them. Pages without a conversation have those of
// the sidebar alone.

const dialogTemplate = document.getElementById("keys-template");
const app = document.querySelector(".app");
const sidebar = document.getElementById("side");
const textarea = document.getElementById("text");

// Choices: stored in this browser, changed by the switches in the help and in the settings.

const STORAGE_KEY = "legible:keys";
const isTouch = matchMedia("(hover: none) and (pointer: coarse)").matches;
const DEFAULTS = { on: true, enterSends: !isTouch, copyKey: false }; // by data-choice

const choices = { ...DEFAULTS };

let dialog = null; // in the page once it was opened

const applyToDialog = () => {
  dialog.querySelectorAll("[data-needs]").forEach((row) => {
    row.hidden = !document.querySelector(row.dataset.needs);
  });
  dialog.toggleAttribute("data-off", !choices.on);
};

const loadChoices = () => {
  try {
    Object.assign(choices, DEFAULTS, JSON.parse(localStorage.getItem(STORAGE_KEY)));
  } catch {
    Object.assign(choices, DEFAULTS);
  }
  document.querySelectorAll("[data-choice]").forEach((button) => {
    button.setAttribute("aria-checked", choices[button.dataset.choice]);
  });
  textarea?.toggleAttribute("data-enter-breaks", !choices.enterSends); // read by composer.js
  if (dialog) applyToDialog();
};

document.addEventListener("click", ({ target }) => {
  const name = target.closest("[data-choice]")?.dataset.choice;
  if (!name) return;
  localStorage.setItem(STORAGE_KEY, JSON.stringify({ ...choices, [name]: !choices[name] }));
  loadChoices();
});

// Another tab, or a page from the back/forward cache, may have other choices.
addEventListener("storage", loadChoices);
addEventListener("pageshow", loadChoices);
loadChoices();

const addDialog = () => {
  dialogTemplate.after(dialogTemplate.content);
  dialog = document.getElementById("keys");
};

const toggleDialog = () => {
  if (dialog?.open) return dialog.close();
  if (!dialog) addDialog();
  loadChoices();
  dialog.showModal();
};

// Writing can begin at once, where that opens no keyboard on the screen. What the page came for goes first.
const isFocusFree = document.activeElement === document.body && !document.querySelector("[autofocus]") && !location.hash;
if (isFocusFree && !isTouch) textarea?.focus({ preventScroll: true });

// The current card: the focused one, otherwise the first one in sight.

const allCards = () => [...document.querySelectorAll("#messages [data-message-id]")];
const focusedCard = () => document.activeElement.closest("[data-message-id]");
const isInSight = (card) => card.getBoundingClientRect().bottom > innerHeight / 4;

const currentIndex = (cards) => cards.indexOf(focusedCard() ?? cards.find(isInSight) ?? cards.at(-1));

const focusCard = (step) => {
  const cards = allCards();
  // Without a focused card the first step forward is to the one in sight.
  const distance = cards.includes(focusedCard()) || step < 0 ? step : 0;
  const card = cards[currentIndex(cards) + distance];
  if (!card) return;
  card.tabIndex = -1;
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "start" });
};

const click = (selector) => () => document.querySelector(selector)?.click();

const clickInAnswer = (selector) => () => {
  const cards = allCards();
  const answer = cards.slice(currentIndex(cards)).find((card) => card.dataset.role === "assistant");
  (answer ?? cards.at(-1))?.querySelector(selector)?.click();
};

// The sidebar is a column where there is room, otherwise a popover.

const isDrawer = () => app.hasAttribute("data-narrow") || getComputedStyle(sidebar).position === "fixed";

const toggleSidebar = () => {
  if (sidebar.matches(":popover-open")) sidebar.hidePopover();
  else if (app.hasAttribute("data-narrow")) app.removeAttribute("data-narrow");
  else if (isDrawer()) sidebar.showPopover();
  else app.setAttribute("data-narrow", "");
};

const focusSearch = () => {
  const field = sidebar.querySelector("[type=search]");
  if (!field) return;
  if (isDrawer() && !sidebar.matches(":popover-open")) sidebar.showPopover();
  field.focus();
};

const SHORTCUTS = {
  "mod+/": toggleDialog,
  "shift+escape": () => textarea?.focus(),
  "mod+k": focusSearch,
  "mod+shift+o": click("[data-new-chat]"),
  "mod+shift+s": toggleSidebar,
  "mod+shift+c": () => [...document.querySelectorAll("#messages [data-copy]")].at(-1)?.click(),
  "alt+pageup": () => focusCard(-1),
  "alt+pagedown": () => focusCard(1),
  "alt+r": clickInAnswer("[data-ai-reasoning-toggle]"),
  "alt+t": clickInAnswer("[data-tool-trace] > summary"),
  "alt+shift+r": click("[data-toggle=show-reasoning]"),
};

// Use the letter that the key writes; its position where Alt writes another sign, as on a Mac.
const keyName = ({ key, code }) => {
  const useCode = key.length === 1 && !/[a-z/]/i.test(key) && code.startsWith("Key");
  return (useCode ? code.slice("Key".length) : key).toLowerCase();
};

const combinationOf = (event) => {
  const name = keyName(event);
  const modifiers = {
    mod: event.ctrlKey !== event.metaKey,
    alt: event.altKey,
    shift: event.shiftKey && name !== "/", // on some keyboards the slash itself needs Shift
  };
  return [...Object.keys(modifiers).filter((modifier) => modifiers[modifier]), name].join("+");
};

const isActive = (combination) => {
  if (!dialogTemplate || !choices.on || !(combination in SHORTCUTS)) return false;
  if (combination === "mod+shift+c" && !choices.copyKey) return false;
  return combination === "mod+/" || !document.querySelector("dialog[open]");
};

document.addEventListener("keydown", (event) => {
  const combination = event.key && !event.isComposing ? combinationOf(event) : "";
  if (!isActive(combination)) return;
  event.preventDefault();
  if (!event.repeat || combination.startsWith("alt+page")) SHORTCUTS[combination]();
});

document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-keys]")) toggleDialog();
});
