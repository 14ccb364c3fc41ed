// Moving about the page: following its newest text, and keys.

// Following the newest text, while the reader hasn't left the end: of an answer being written that of its text, once it
// fills the page below its question. What explains it comes below the edge.

const chat = document.getElementById("chat");
const jump = document.getElementById("jump");
const page = document.scrollingElement;

const EDGE_PX = 48; // closer to the end than this counts as being there
const PEEK_PX = 32; // so much is seen below the text being written

const dock = jump.closest(".dock");
const queue = document.getElementById("queue");
const messages = document.getElementById("messages");

const top = (element) => page.scrollTop + element.getBoundingClientRect().top;

const endOfText = (card) => {
  const answer = card.querySelector("[data-answer]");
  const text = answer.lastElementChild ?? answer;
  const below = page.scrollTop + text.getBoundingClientRect().bottom + PEEK_PX - dock.getBoundingClientRect().top;
  const question = card.previousElementSibling ?? card;
  const atFirst = top(question) - Number.parseFloat(getComputedStyle(page).scrollPaddingTop);
  if (!beyond) card.toggleAttribute("data-long", below > atFirst); // then the work goes out of sight
  return Math.max(below, atFirst);
};

const end = () => {
  const most = page.scrollHeight - page.clientHeight;
  const card = chat.querySelector("#messages > [data-status=streaming]:last-child");
  return card && !queue.childElementCount ? Math.min(most, endOfText(card)) : most;
};

const gap = () => end() - page.scrollTop;

let beyond = 0; // how far below the end one reads
let isFollowing = gap() <= EDGE_PX;
let lastTop = page.scrollTop;

const showJump = () => {
  jump.hidden = isFollowing || gap() <= EDGE_PX || !messages.childElementCount;
  if (jump.hidden) delete jump.dataset.new;
};

const follow = (toTheEnd) => {
  isFollowing = toTheEnd;
  if (toTheEnd && messages.childElementCount) page.scrollTop = end() + beyond; // an empty page is read from its top
  showJump();
};

const followAfresh = () => {
  beyond = 0;
  follow(true);
};

export const keepUp = () => {
  if (!isFollowing && chat.querySelector("#messages > [data-status=streaming]")) jump.dataset.new = "";
  follow(isFollowing);
};

addEventListener("scroll", () => {
  const hasRisen = page.scrollTop < lastTop;
  const isAtEnd = gap() <= EDGE_PX;
  if (hasRisen !== isAtEnd) isFollowing = isAtEnd;
  beyond = gap() < -EDGE_PX ? -gap() : 0;
  lastTop = page.scrollTop;
  showJump();
}, { passive: true });

addEventListener("wheel", (event) => {
  if (event.deltaY < 0) follow(false);
}, { passive: true });

addEventListener("touchmove", () => follow(false), { passive: true });

document.addEventListener("keydown", ({ key, target }) => {
  if (["ArrowUp", "PageUp", "Home"].includes(key) && !target.matches("textarea, input")) follow(false);
});

document.addEventListener("click", ({ target }) => {
  if (!target.closest(".fold__bar")) return;
  const wasFollowing = isFollowing;
  isFollowing = false; // what a reader opened may push the end away: then they read there
  setTimeout(() => {
    isFollowing = wasFollowing && gap() <= EDGE_PX;
    showJump();
  }, 200);
});

// Cards get their true height only when they come into sight.
new ResizeObserver(() => isFollowing && follow(true)).observe(messages);

jump.addEventListener("click", followAfresh);
document.addEventListener("htmx:wsAfterSend", followAfresh);

// At its end a card gets what explains the answer; its reader stays.
export const stay = () => {
  if (gap() < EDGE_PX && !queue.childElementCount) isFollowing = false;
};

const [visit] = performance.getEntriesByType("navigation");
if (!location.hash && visit?.type === "navigate") follow(true);

// Keys for what has a button elsewhere, and the sheet where they are listed and switched off; this browser keeps that.

const STORE = "legible:keys";
const sheet = document.getElementById("keys");
const app = document.querySelector(".app");
const side = document.getElementById("side");
const area = document.getElementById("text");

// Choices, by the names of their switches; page.js reads which Enter sends.

const DEFAULTS = { on: true, enterSends: true, copyKey: false };

const kept = () => {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(STORE)) };
  } catch {
    return { ...DEFAULTS };
  }
};

let choices = kept();

const show = () => {
  sheet.querySelectorAll("[data-choice]").forEach((one) => {
    one.setAttribute("aria-checked", choices[one.dataset.choice]);
  });
  sheet.querySelectorAll("[data-needs]").forEach((row) => { row.hidden = !document.querySelector(row.dataset.needs); });
  sheet.toggleAttribute("data-off", !choices.on);
  area.toggleAttribute("data-enter-breaks", !choices.enterSends);
};

const choose = (name) => {
  choices = { ...choices, [name]: !choices[name] };
  localStorage.setItem(STORE, JSON.stringify(choices));
  show();
};

// Another tab, or the page that the back button brings, may have others.
const reread = () => {
  choices = kept();
  show();
};

// The card that is meant: where the focus is, else the first that is in sight.

const cards = () => [...messages.querySelectorAll(":scope > [data-message-id]")];
const isInSight = (card) => card.getBoundingClientRect().bottom > innerHeight / 4;

const current = (all) => {
  const held = document.activeElement.closest("[data-message-id]");
  return all.indexOf(held ?? all.find(isInSight) ?? all.at(-1));
};

const goTo = (step) => {
  const all = cards();
  const held = all.includes(document.activeElement.closest("[data-message-id]"));
  const next = all[current(all) + (held || step < 0 ? step : 0)];
  if (!next) return;
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
};

const press = (selector) => () => document.querySelector(selector)?.click();

const pressInCard = (selector) => () => {
  const all = cards();
  const answer = all.slice(current(all)).find((card) => card.dataset.role === "assistant");
  (answer ?? all.at(-1))?.querySelector(selector)?.click();
};

// The list of conversations is a column where there is room, else a drawer.

const isDrawer = () => app.hasAttribute("data-narrow") || getComputedStyle(side).position === "fixed";

const openSide = () => {
  if (isDrawer() && !side.matches(":popover-open")) side.showPopover();
};

const toggleSide = () => {
  if (side.matches(":popover-open")) side.hidePopover();
  else if (app.hasAttribute("data-narrow")) app.removeAttribute("data-narrow");
  else if (isDrawer()) side.showPopover();
  else app.setAttribute("data-narrow", "");
};

const search = () => {
  openSide();
  side.querySelector("[type=search]").focus();
};

const toggleSheet = () => {
  if (sheet.open) return sheet.close();
  show();
  sheet.showModal();
};

const copyLast = () => [...messages.querySelectorAll("[data-copy]")].at(-1)?.click();

const KEYS = {
  "mod+/": toggleSheet,
  "shift+escape": () => area.focus(),
  "mod+k": () => side.querySelector("[type=search]") && search(),
  "mod+shift+o": press("[data-new-chat]"),
  "mod+shift+s": toggleSide,
  "mod+shift+c": copyLast,
  "alt+pageup": () => goTo(-1),
  "alt+pagedown": () => goTo(1),
  "alt+r": pressInCard("[data-ai-reasoning-toggle]"),
  "alt+t": pressInCard("[data-tool-trace] > summary"),
  "alt+shift+r": press("[data-toggle=show-reasoning]"),
};

// A letter by what it says, else by its place: Alt writes other signs on some keyboards.
const nameOf = ({ key, code }) => {
  const isPlaced = key.length === 1 && !/[a-z/]/i.test(key) && code.startsWith("Key");
  return (isPlaced ? code.slice("Key".length) : key).toLowerCase();
};

const combination = (event) => {
  const name = nameOf(event);
  const held = { mod: event.ctrlKey !== event.metaKey, alt: event.altKey, shift: event.shiftKey && name !== "/" };
  return [...Object.keys(held).filter((one) => held[one]), name].join("+");
};

const isMeant = (keys) => {
  if (!choices.on || !(keys in KEYS) || (keys === "mod+shift+c" && !choices.copyKey)) return false;
  return keys === "mod+/" || !document.querySelector("dialog[open]");
};

document.addEventListener("keydown", (event) => {
  const keys = event.key && !event.isComposing ? combination(event) : "";
  if (!isMeant(keys)) return;
  event.preventDefault();
  if (!event.repeat || keys.startsWith("alt+page")) KEYS[keys]();
});

document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-keys]")) toggleSheet();
  const choice = target.closest("[data-choice]");
  if (choice) choose(choice.dataset.choice);
});

addEventListener("storage", reread);
addEventListener("pageshow", reread);
show();
