// The conversation's socket: its connection, the frames that come over it, and the state that the window shows.
// htmx swaps HTML frames; of JSON frames each type has a handler. chat/socket/frames.py writes them and describes their
// fields. Other scripts send by "legible:send".

import { drawText, followNewText, forgetText, holdPosition, receiveText, stayAtText } from "./live_text.js";

const chat = document.getElementById("chat");
const composer = chat.querySelector("[data-composer]");
const banner = document.getElementById("connection");

const ANSWERS = "#messages [data-role=assistant]:not([data-beside])"; // of two side by side the first
const SYNC_MS = 1000;
const ALL_CARDS = '<div id="messages"'; // draws every card again
const MORE_CARDS = '<div hx-swap-oob="beforeend:#messages"'; // brings some
const CARD_ID = /<article\s+class="card"\s+id="([^"]+)"/g;
const TOO_MANY = 4429; // close code: too many pages, or too many messages
const RETRIED_BY_HTMX = [1006, 1011, 1012, 1013];

let socket = null;
let isConnected = false;
let hasConnected = false;
let forms = null; // forms_fallback.js, while no WebSocket comes through
let failedConnects = 0;
let isSigningOut = false;

const reconnectDelay = (tries) => (tries < 20 ? 300 + 900 * Math.random() : 2000 + 6000 * Math.random());
htmx.config.wsReconnectDelay = reconnectDelay;

const send = (form) => {
  if (isConnected) socket.send(JSON.stringify(form));
  else if (form.text) forms?.postMessage(form);
  else if (form.action === "stop") forms?.postStop();
};

let syncedAt = 0;

const sync = (fresh = false) => {
  const last = [...chat.querySelectorAll(ANSWERS)].at(-1);
  syncedAt = performance.now();
  const { messageId = "", status = "" } = last?.dataset ?? {};
  send({ action: "sync", last: messageId, status, beside: last?.nextElementSibling?.dataset.status, fresh });
};

const syncAfterGap = () => {
  if (performance.now() - syncedAt > SYNC_MS) sync();
};

// A status stays long enough to be read; of those that come sooner one waits.

const READ_MS = 400;
const statuses = [];
let statusAt = 0;
let statusTimer = 0;

const wordsOf = (status) => status?.firstChild?.data;

const showStatus = () => {
  const shown = chat.querySelector("[data-live] > span");
  if (shown && statuses.length) shown.replaceWith(statuses.shift()); // with its seconds: elapsed ones, or those left
  statusAt = performance.now();
  statusTimer = statuses.length && setTimeout(showStatus, READ_MS);
};

document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  const next = detail.fragment.firstElementChild;
  if (!next?.matches(".status") || detail.target.closest(".comparison")) return; // of two side by side none waits
  const status = next.firstElementChild;
  const words = wordsOf(status);
  const wait = statusAt + READ_MS - performance.now();
  if (!words) return statuses.splice(0);
  if (!statuses.length && words === wordsOf(detail.target.firstElementChild)) return;
  if (!statuses.length && wait <= 0) return (statusAt = performance.now());
  detail.shouldSwap = false;
  if (words !== wordsOf(statuses.at(-1))) statuses.splice(1, 1, status);
  statusTimer ||= setTimeout(showStatus, wait);
});

// Phases of steps that are drawn again stay as their reader left them.
document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  for (const next of detail.fragment.querySelectorAll(".phase > details")) {
    const shown = document.getElementById(next.id);
    if (shown) next.open = shown.open;
  }
});

// JSON frames.

const NOTHING_TO_SHOW =
  ".disclosure:has(> .points:empty), .disclosure:has(.steps:empty), .disclosure[data-token-est='0'], .disclosure--line:empty, [id$='-pad']:empty";

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

const updateTitle = ({ conversation, title, goesUp }) => {
  document.getElementById("title").textContent = title;
  document.title = `${title} · ${chat.dataset.site}`;
  const item = document.getElementById(`c-${conversation}`);
  if (!item) return;
  if (goesUp) return item.remove(); // it comes again, on top
  const [link, more] = item.children;
  more.ariaLabel = more.ariaLabel.replace(link.textContent.trim(), () => title);
  link.title = title;
  link.replaceChildren(title);
};

const announce = ({ text, assertive }) => {
  document.getElementById("status-node").textContent = text; // also of a failure: nothing is being done any more
  if (assertive) document.getElementById("alert-node").textContent = text;
};

const setSwitch = (button, isOn) => {
  button?.setAttribute("aria-checked", isOn);
  if (button) button.form.elements.on.value = !isOn;
};

// Another tab, or time, switched it; or this person may not use it any more.
const updateSwitch = ({ name, on, possible }) => {
  const button = document.querySelector(`[data-toggle=${name}]`);
  if (possible) setSwitch(button, on);
  else button?.form.remove();
};

const showLiveness = ({ live }) => {
  banner.hidden = live;
  banner.textContent = banner.dataset.notLive;
};

// The pickers of model and effort follow what was chosen by a command or on another page.

const updateEfforts = (efforts) => {
  const picker = document.getElementById("effort-pick");
  const options = efforts.map(({ value, label, chosen }) => new Option(label, value, false, chosen));
  const labels = (list) => [...list].map((option) => option.text).join();
  if (labels(options) !== labels(picker.options)) picker.replaceChildren(...options);
  picker.value = efforts.find(({ chosen }) => chosen)?.value ?? "";
  picker.parentElement.hidden = !efforts.length;
};

const updateOthers = (others) => {
  const picker = document.getElementById("compare-pick");
  const chosen = picker.value;
  picker.replaceChildren(picker.options[0], ...others.map(({ value, label }) => new Option(label, value)));
  picker.value = others.some(({ value }) => value === chosen) ? chosen : "";
  picker.parentElement.hidden = !others.length;
};

const updateModel = ({ model, label, efforts, others }) => {
  updateEfforts(efforts);
  updateOthers(others);
  const picker = document.getElementById("model-pick");
  if (!picker.matches("select")) return picker.firstElementChild.replaceChildren(label); // one model only
  const option = [...picker.options].find(({ value }) => value === model);
  if (option) option.text = label;
  else picker.add(new Option(label, model));
  picker.value = model;
};

const accept = (detail) => document.dispatchEvent(new CustomEvent("legible:accepted", { detail }));

const addDraft = ({ text }) => document.dispatchEvent(new CustomEvent("legible:draft", { detail: text }));

// Drawn by the clock; every other frame belongs behind the text that came before it.
const TEXT_TYPES = ["text", "block", "thinking"];

const HANDLERS = {
  ending: stayAtText,
  card: markCard,
  turn: setRunning,
  switch: updateSwitch,
  model: updateModel,
  title: updateTitle,
  announce,
  accepted: accept,
  draft: addDraft,
  live: showLiveness,
};

const handleFrame = (frame) => {
  if (TEXT_TYPES.includes(frame.type)) return receiveText(frame, syncAfterGap);
  drawText();
  HANDLERS[frame.type]?.(frame); // a server that was updated may have more types
};

// Where frames go.

// Messages that were drawn again may have brought it already.
const makeRoom = (message) => {
  statusAt = performance.now();
  for (const [, id] of message.matchAll(CARD_ID)) {
    const card = document.getElementById(id);
    (card?.closest(".comparison") ?? card)?.remove();
  }
};

let returnAfterFrame = () => {};

document.addEventListener("htmx:wsBeforeMessage", (event) => {
  const { message } = event.detail;
  noteFrame();
  if (message.startsWith(ALL_CARDS)) returnAfterFrame = holdPosition();
  if (message.startsWith(MORE_CARDS)) makeRoom(message);
  if (!message.startsWith("{")) return drawText(); // what came before a swap belongs to what is swapped
  event.preventDefault();
  handleFrame(JSON.parse(message));
});

document.addEventListener("htmx:wsAfterMessage", () => {
  returnAfterFrame();
  returnAfterFrame = () => {};
  followNewText();
});

// A network that goes away closes no socket. Browsers say so, but a server on the same machine goes on answering: it is
// asked, and the banner is shown if it is silent.

const SILENT_MS = 4000;
let framesSeen = 0;
let isSilent = false;

const noteFrame = () => {
  framesSeen += 1;
  if (isSilent) banner.hidden = true;
  isSilent = false;
};

const askWhetherSilent = () => {
  if (!isConnected) return;
  const seen = framesSeen;
  sync();
  setTimeout(() => {
    isSilent = isConnected && framesSeen === seen;
    if (isSilent) showBanner(composer.hasAttribute("data-running") ? "awayRunning" : "away");
  }, SILENT_MS);
};

addEventListener("offline", askWhetherSilent);
addEventListener("online", () => isSilent && socket.reconnect());

// The connection. A page that can't open its socket at first sends by forms.

const FAILED_CONNECTS = 3;
const CONNECT_MS = 8000; // some proxies leave the handshake without an answer

const showBanner = (name) => {
  banner.textContent = banner.dataset[name];
  banner.hidden = false;
};

const saysFailure = () => [banner.dataset.unsent, chat.dataset.failed].includes(banner.textContent);

let isProbing = false;

const useForms = async () => {
  if (hasConnected || forms || isProbing) return;
  isProbing = true;
  const script = await import("./forms_fallback.js").catch(() => null);
  const answers = await script?.readPage(); // else it is the server that is away
  isProbing = false;
  if (!answers) return;
  if (hasConnected) return script.stopReading();
  forms = script;
  showBanner("blocked");
  document.dispatchEvent(new CustomEvent("legible:connected"));
  document.dispatchEvent(new CustomEvent("legible:blocked"));
};

setTimeout(useForms, CONNECT_MS);

const signIn = () => {
  try {
    sessionStorage.setItem("legible:expired", chat.dataset.user);
  } finally {
    location.assign(chat.dataset.login);
  }
};

document.addEventListener("legible:expired", signIn);
document.addEventListener("legible:frame", ({ detail }) => handleFrame(detail));

document.addEventListener("htmx:wsOpen", ({ detail }) => {
  socket = detail.socketWrapper;
  isConnected = hasConnected = true;
  forms?.stopReading();
  forms = null;
  banner.hidden = true;
  sync();
  document.dispatchEvent(new CustomEvent("legible:connected")); // from now on others can send
});

document.addEventListener("htmx:wsClose", ({ detail }) => {
  const { code } = detail.event;
  isConnected = false;
  if (code === 4401 && isSigningOut) return; // the form's own answer is on its way
  if (code === 4401) return signIn();
  // There it can be restored for a while; who writes here keeps what they wrote.
  if (code === 4404) return composer.elements.text.value.trim() ? showBanner("gone") : location.assign(chat.dataset.gone);
  if (code === TOO_MANY) showBanner("tooMany");
  else if (banner.hidden || banner.textContent === banner.dataset.notLive || saysFailure())
    showBanner(composer.hasAttribute("data-running") ? "awayRunning" : "away");
  failedConnects += 1;
  if (failedConnects >= FAILED_CONNECTS) useForms();
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

const showFailure = (text) => {
  announce({ text, assertive: true });
  banner.textContent = text;
  banner.hidden = false;
};

document.addEventListener("htmx:responseError", ({ detail: { xhr } }) =>
  showFailure(/^text\/plain/.test(xhr.getResponseHeader("content-type")) ? xhr.responseText : chat.dataset.failed),
);
document.addEventListener("htmx:sendError", () => showFailure(banner.dataset.unsent));
document.addEventListener("htmx:beforeRequest", () => {
  if (saysFailure()) banner.hidden = true; // another try
});

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
  const last = [...document.querySelectorAll(ANSWERS)].at(-1);
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
