// The conversation's socket: opening and closing it, the frames that come over it, and the state that the window shows.
// htmx swaps HTML frames; JSON frames are handled here. Other scripts send by "legible:send".

import { drawText, followNewText, forgetText, holdPosition, receiveText, stayAtText } from "./live_text.js";

const chat = document.getElementById("chat");
const composer = chat.querySelector("[data-composer]");
const banner = document.getElementById("connection");

const SYNC_MS = 1000;
const ALL_CARDS = '<div id="messages"'; // draws every card again
const MORE_CARDS = '<div hx-swap-oob="beforeend:#messages"'; // brings some
const CARD_ID = /<article\s+class="card"\s+id="([^"]+)"/g;
const TOO_MANY = 4429; // close code: too many pages, or too many messages
const RETRIED_BY_HTMX = [1006, 1011, 1012, 1013];

const NOTHING_TO_SHOW =
  ".disclosure:has(> .points:empty), .disclosure:has(.steps:empty), .disclosure[data-token-est='0'], .disclosure--line:empty, [id$='-pad']:empty";

let socket = null;
let isConnected = false;
let isSigningOut = false;

const reconnectDelay = (tries) => (tries < 20 ? 300 + 900 * Math.random() : 2000 + 6000 * Math.random());
htmx.config.wsReconnectDelay = reconnectDelay;

const send = (form) => {
  if (isConnected) socket.send(JSON.stringify(form));
};

let syncedAt = 0;

const sync = (fresh = false) => {
  const last = [...chat.querySelectorAll("#messages > [data-role=assistant]")].at(-1);
  syncedAt = performance.now();
  send({ action: "sync", last: last?.dataset.messageId ?? "", status: last?.dataset.status ?? "", fresh });
};

const syncAfterGap = () => {
  if (performance.now() - syncedAt > SYNC_MS) sync();
};

// A status stays long enough to be read; of those that come sooner one waits.

const READ_MS = 400;
const statuses = [];
let statusAt = 0;
let statusTimer = 0;

const wordsOf = (status) => status?.firstElementChild?.firstChild;

const showStatus = () => {
  const shown = wordsOf(chat.querySelector("[data-live]"));
  if (shown && statuses.length) shown.data = statuses.shift();
  statusAt = performance.now();
  statusTimer = statuses.length && setTimeout(showStatus, READ_MS);
};

document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  const next = detail.fragment.firstElementChild;
  if (!next?.matches(".status")) return;
  const words = wordsOf(next)?.data;
  const wait = statusAt + READ_MS - performance.now();
  if (!words) return statuses.splice(0);
  if (!statuses.length && words === wordsOf(detail.target)?.data) return;
  if (!statuses.length && wait <= 0) return (statusAt = performance.now());
  detail.shouldSwap = false;
  if (words !== statuses.at(-1)) statuses.splice(1, 1, words);
  statusTimer ||= setTimeout(showStatus, wait);
});

// Everything else that comes as JSON.

const prune = (card) => {
  card.querySelectorAll(NOTHING_TO_SHOW).forEach((shell) => shell.remove());
  card.querySelector(".work:not(:has(.disclosure))")?.remove();
};

const markCard = ({ card: id, status, tokensEst }) => {
  const card = document.getElementById(`m-${id}`);
  const thinking = card?.querySelector("[data-ai-reasoning]");
  if (thinking && tokensEst !== undefined) thinking.dataset.tokenEst = tokensEst;
  if (!card || !status) return;
  const isLive = status === "streaming";
  card.dataset.status = status;
  if (isLive) return card.setAttribute("aria-busy", "true");
  card.removeAttribute("aria-busy");
  prune(card);
  card.dispatchEvent(new CustomEvent("legible:settled", { bubbles: true }));
};

const setRunning = ({ running }) => {
  const stop = composer.querySelector("[data-stop]");
  if (!running && stop === document.activeElement) composer.elements.text.focus(); // else it would be lost
  composer.toggleAttribute("data-running", running);
  if (running) composer.elements.text.placeholder = composer.elements.text.dataset.followUp;
  stop.hidden = !running;
};

const updateTitle = ({ named, title, goesUp }) => {
  document.getElementById("title").textContent = title;
  document.title = `${title} · ${chat.dataset.site}`;
  const item = document.getElementById(`c-${named}`);
  if (!item) return;
  if (goesUp) return item.remove(); // it comes again, on top
  const [link, more] = item.children;
  more.ariaLabel = more.ariaLabel.replace(link.textContent.trim(), () => title);
  link.replaceChildren(title);
};

const announce = ({ announce: text, assertive }) => {
  document.getElementById(assertive ? "alert-node" : "status-node").textContent = text;
};

const setSwitch = (button, isOn) => {
  button?.setAttribute("aria-checked", isOn);
  if (button) button.form.elements.on.value = !isOn;
};

// Another tab, or time, switched it; or this person may not use it any more.
const updateSwitch = ({ switch: name, on, possible }) => {
  const button = document.querySelector(`[data-toggle=${name}]`);
  if (possible) setSwitch(button, on);
  else button?.form.remove();
};

const showLiveness = ({ live }) => {
  banner.hidden = live;
  banner.textContent = live ? banner.dataset.away : banner.dataset.notLive;
};

// The pickers of model and effort follow what was chosen by a command or on another page.

const updateEfforts = (efforts) => {
  const picker = document.getElementById("effort-pick");
  const options = efforts.map(([value, label, isChosen]) => new Option(label, value, false, isChosen));
  const labels = (list) => [...list].map((option) => option.text).join();
  if (labels(options) !== labels(picker.options)) picker.replaceChildren(...options);
  picker.value = efforts.find(([, , isChosen]) => isChosen)?.[0] ?? "";
  picker.parentElement.hidden = !efforts.length;
};

const updateModel = ({ model, label, efforts }) => {
  updateEfforts(efforts);
  const picker = document.getElementById("model-pick");
  if (!picker.matches("select")) return picker.firstElementChild.replaceChildren(label); // one model only
  const option = [...picker.options].find(({ value }) => value === model);
  if (option) option.text = label;
  else picker.add(new Option(label, model));
  picker.value = model;
};

// An array is about the open block of the answer.
const openBlockChange = ([n, text, same, finished, end]) =>
  same === undefined ? { n, text } : { n, html: text, same, finished, end };

const LESS_THAN = /\x7f/g; // stands for "<", so that nothing takes a JSON frame for HTML

const parseFrame = (message) => JSON.parse(message.replace(LESS_THAN, "<"));

const handleFrame = (frame) => {
  if (Array.isArray(frame)) return receiveText(openBlockChange(frame), syncAfterGap);
  if ("text" in frame || "html" in frame) return receiveText(frame, syncAfterGap);
  drawText();
  if ("settles" in frame) return stayAtText();
  if ("card" in frame) return markCard(frame);
  if ("running" in frame) return setRunning(frame);
  if ("switch" in frame) return updateSwitch(frame);
  if ("model" in frame) return updateModel(frame);
  if ("named" in frame) return updateTitle(frame);
  if ("announce" in frame) return announce(frame);
  if ("draft" in frame) return document.dispatchEvent(new CustomEvent("legible:draft", { detail: frame.draft }));
  if ("live" in frame) return showLiveness(frame);
  if ("gone" in frame) location.reload();
};

// Messages that were drawn again may have brought it already.
const makeRoom = (message) => {
  statusAt = performance.now();
  [...message.matchAll(CARD_ID)].forEach(([, id]) => document.getElementById(id)?.remove());
};

let returnAfterFrame = () => {};

document.addEventListener("htmx:wsBeforeMessage", (event) => {
  const { message } = event.detail;
  if (message.startsWith(ALL_CARDS)) returnAfterFrame = holdPosition();
  if (message.startsWith(MORE_CARDS)) makeRoom(message);
  if (!/^[{[]/.test(message)) return drawText(); // what came before a swap belongs to what is swapped
  event.preventDefault();
  handleFrame(parseFrame(message));
});

document.addEventListener("htmx:wsAfterMessage", () => {
  returnAfterFrame();
  returnAfterFrame = () => {};
  followNewText();
});

// The connection.

document.addEventListener("htmx:wsOpen", ({ detail }) => {
  socket = detail.socketWrapper;
  isConnected = true;
  banner.hidden = true;
  sync();
  document.dispatchEvent(new CustomEvent("legible:connected")); // from now on others can send
});

document.addEventListener("htmx:wsClose", ({ detail }) => {
  const { code } = detail.event;
  isConnected = false;
  if (code === 4401 && isSigningOut) return; // the form's own answer is on its way
  if (code === 4401) return location.assign(chat.dataset.login);
  if (code === 4404) return location.assign(chat.dataset.gone); // there it can be restored for a while
  banner.hidden = false;
  if (banner.textContent === banner.dataset.notLive) banner.textContent = banner.dataset.away;
  if (code === TOO_MANY) banner.textContent = banner.dataset.tooMany;
  const delay = code === TOO_MANY ? 15000 + reconnectDelay(20) : reconnectDelay(0);
  if (!RETRIED_BY_HTMX.includes(code)) setTimeout(() => detail.socketWrapper.reconnect(), delay);
});

document.addEventListener("submit", ({ target }) => {
  isSigningOut = target.getAttribute("action")?.endsWith("/logout/");
});

document.addEventListener("legible:send", ({ detail }) => send(detail));

// A switch was thrown: draw the messages again, and keep the place.

let returnToPlace = () => {};

document.addEventListener("htmx:afterRequest", ({ target, detail }) => {
  if (!detail.successful || !target.matches("[data-refresh]")) return;
  setSwitch(target.querySelector("[role=switch]"), detail.requestConfig.parameters.on === "true");
  send({ action: "refresh" });
  returnToPlace = holdPosition();
  const since = document.querySelector("#earlier")?.dataset.before ?? 1; // what the page holds
  htmx.ajax("GET", `${chat.dataset.messages}?since=${since}`, { target: "#messages", swap: "innerHTML" });
});

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.id !== "messages") return;
  forgetText();
  returnToPlace();
  sync(true);
});

// A title or a model that is refused comes back in its form, with the reason.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.xhr.status !== 400 || !detail.target.matches("#model, #rename")) return;
  detail.shouldSwap = true;
  detail.isError = false;
});

document.addEventListener("htmx:responseError", () => announce({ announce: chat.dataset.failed, assertive: true }));

// The window says that an answer is being written and, while it is hidden, how the answer ended.

const WINDOW_STATES = { complete: "done", error: "failed", interrupted: "failed" };
const stateNames = document.querySelector("title").dataset;
const icon = document.querySelector("link[rel=icon]");
const defaultIcon = icon.href;

let windowState = ""; // "", working, done or failed
let conversationTitle = document.title;
let shownTitle = conversationTitle;

const updateWindowTitle = () => {
  if (document.title !== shownTitle) conversationTitle = document.title; // renamed by another script
  shownTitle = windowState ? `${stateNames[windowState]} · ${conversationTitle}` : conversationTitle;
  if (document.title !== shownTitle) document.title = shownTitle;
};

const setWindowState = (state) => {
  if (state === windowState) return;
  windowState = state;
  icon.href = icon.dataset[state] ?? defaultIcon;
  updateWindowTitle();
};

const followTurn = () => {
  if (composer.hasAttribute("data-running")) return setWindowState("working");
  if (windowState !== "working") return;
  const last = [...document.querySelectorAll("#messages > [data-role=assistant]")].at(-1);
  setWindowState(document.hidden ? WINDOW_STATES[last?.dataset.status] ?? "" : "");
};

new MutationObserver(followTurn).observe(composer, { attributeFilter: ["data-running"] });
new MutationObserver(updateWindowTitle).observe(document.head, { childList: true, subtree: true, characterData: true });
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && windowState !== "working") setWindowState("");
});
followTurn();

document.addEventListener("legible:settled", async ({ target }) => {
  if (!document.hidden || target.dataset.status !== "complete") return;
  const script = await import("./notifications.js").catch(() => null); // offline: the banner says so
  script?.notifyOfAnswer();
});

// The address of a page that offers to undo a deletion would offer it again.
const address = new URL(location);
if (address.searchParams.has("deleted")) {
  address.searchParams.delete("deleted");
  history.replaceState(history.state, "", address);
}
