// Drawers and dialogs, the menu of a conversation, the form for its title, and Escape in the search field.

const sidebar = document.getElementById("side");
const searchField = document.getElementById("find");

// A drawer closes when a link in it is followed, and before the page goes into the back/forward cache.

document.addEventListener("click", ({ target }) => {
  if (target.closest("a:not([hx-get])")) target.closest(":popover-open")?.hidePopover();
});

addEventListener("pagehide", () => document.querySelector(":popover-open")?.hidePopover());

// The content of a dialog is loaded by the click that opens it. The response to its form doesn't open a closed one again.
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const isLoaded = detail.requestConfig?.verb === "get";
  if (isLoaded && detail.target?.matches("dialog:not([open])")) detail.target.showModal();
});

searchField.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !searchField.value) return;
  event.preventDefault();
  event.stopPropagation();
  searchField.value = "";
  searchField.dispatchEvent(new Event("input", { bubbles: true }));
});

// The list of conversations: one tab stop each, arrows between them and to their menus.

const list = document.getElementById("conversations");

const hideMenusFromTab = () => list.querySelectorAll("li > .more").forEach((more) => (more.tabIndex = -1));

new MutationObserver(hideMenusFromTab).observe(list, { childList: true, subtree: true });
hideMenusFromTab();

const moveInList = (event) => {
  const links = [...list.querySelectorAll("li > a:first-child")];
  const row = event.target.closest("#conversations li");
  const index = links.indexOf(row?.firstElementChild); // -1: the search field
  const [forward, back] = document.dir === "rtl" ? ["ArrowLeft", "ArrowRight"] : ["ArrowRight", "ArrowLeft"];
  const targets = {
    ArrowDown: links[index + 1],
    ArrowUp: index > 0 ? links[index - 1] : index === 0 && searchField,
    [forward]: row?.querySelector(".more"),
    [back]: row?.firstElementChild,
  };
  const next = !event.target.matches(".rename *") && targets[event.key];
  if (!next) return;
  event.preventDefault();
  next.focus();
};

list.addEventListener("keydown", moveInList);
searchField.addEventListener("keydown", moveInList);

// The menu: one for the bar and all rows. The click that opens it loads its items.

const menu = document.getElementById("menu");
const menuItems = document.getElementById("menu-items");
const options = document.getElementById("options"); // switches of a conversation: in the bar, on a narrow screen in the menu
const optionsPlace = options?.parentElement;
const narrow = matchMedia("(width < 48rem)");

let opener = null;
let pressedWhileOpen = null; // a press outside closes the menu: the click of its own button must not open it again

const isOpen = () => menu.matches(":popover-open");

const openMenu = (button) => {
  opener = button;
  if (narrow.matches && button.closest(".topbar")) menu.prepend(options);
  button.ariaExpanded = "true"; // also its place: see .conversation-menu
  menu.showPopover({ source: button }); // of the drawer, if the button is in it
  menu.querySelector("a, button")?.focus();
};

menu.addEventListener("toggle", ({ newState }) => {
  if (newState === "open") return;
  opener.ariaExpanded = "false";
  optionsPlace?.append(options);
});

document.addEventListener("pointerdown", ({ target }) => {
  pressedWhileOpen = isOpen() && opener.contains(target) ? opener : null;
}, true);

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt === pressedWhileOpen) event.preventDefault();
  pressedWhileOpen = null;
});

// Settled: from then on htmx handles the items.
document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.target === menuItems) openMenu(detail.requestConfig.elt);
});

menu.addEventListener("click", ({ target }) => {
  if (target.closest("[role=menuitem]")) menu.hidePopover();
});

const MOVES = {
  ArrowDown: (index, count) => (index + 1) % count,
  ArrowUp: (index, count) => (index + count - 1) % count,
  Home: () => 0,
  End: (index, count) => count - 1,
};

menu.addEventListener("keydown", (event) => {
  if (event.key === "Tab") return menu.hidePopover(); // from its button Tab then goes on
  if (!(event.key in MOVES)) return;
  event.preventDefault();
  const items = [...menu.querySelectorAll("a, button")];
  items[MOVES[event.key](items.indexOf(document.activeElement), items.length)]?.focus();
});

// The form for a title, beside the one that it replaces.

const closeForm = (form) => {
  const place = form.parentElement;
  form.remove();
  (place.querySelector(".more") ?? document.querySelector(".topbar > .more")).focus({ preventScroll: true });
};

document.addEventListener("htmx:afterSettle", () => {
  const field = document.querySelector(".rename [name=title]");
  if (!field || field === document.activeElement) return;
  field.focus({ preventScroll: true }); // in the bar it would scroll the page to its top
  field.select();
});

document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-cancel]")) closeForm(target.closest(".rename"));
});

document.addEventListener("keydown", (event) => {
  const form = event.target.closest(".rename");
  if (event.key !== "Escape" || !form) return;
  event.preventDefault(); // a drawer stays open
  event.stopPropagation();
  closeForm(form);
}, true);

document.addEventListener("htmx:afterRequest", ({ target, detail }) => {
  if (detail.successful && target.closest(".topbar .rename")) closeForm(target);
});

// A model or title that is refused comes back in its form, with the reason.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.xhr.status !== 400 || !detail.target.matches("#model, #rename")) return;
  detail.shouldSwap = true;
  detail.isError = false;
});

// The collections that a chat reads: a choice counts at once, and the picker that comes back stays open. "Only these" waits
// for a tick, and is undone where the picker is closed without one.

let chosenValue = "";

document.addEventListener("change", ({ target }) => {
  const picker = target.closest("#collections details");
  if (!picker) return;
  if (target.name === "collection") picker.querySelector("[value=some]").checked = true;
  if (target.value === "some" && !picker.querySelector("[name=collection]:checked")) return;
  chosenValue = target.value;
  picker.querySelector("[hx-post]").click();
});

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  const picker = detail.elt.id === "collections" && detail.elt.querySelector("details");
  if (!picker || !chosenValue) return;
  picker.open = true;
  picker.querySelector(`[value="${CSS.escape(chosenValue)}"]`)?.focus();
  chosenValue = "";
});

document.addEventListener("toggle", ({ target }) => {
  if (target.matches?.("#collections details") && !target.open) document.getElementById("choose-collections").reset();
}, true);
