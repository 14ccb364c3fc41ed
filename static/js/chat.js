// The conversation's socket: opening and closing it, the frames that come over it, and following the newest text.
// htmx swaps HTML frames; JSON frames are taken here. Other scripts send by a "legible:send" event on the document.

const chat = document.getElementById("chat");
const banner = document.getElementById("connection");
const jump = document.getElementById("jump");
const page = document.scrollingElement;

const DRAW_MS = 50; // text reaches the page at most 20 times a second
const SYNC_MS = 1000;
const PART_CHARS = 4000; // a long text grows in parts, so that one more piece never lays out all of it again
const EDGE_PX = 48; // closer to the end than this counts as being there
const RETRIED_BY_HTMX = [1006, 1011, 1012, 1013];

const NOTHING_TO_SHOW =
  ".fold:has(> .points:empty), .fold:has(.steps:empty), .fold[data-token-est='0'], .fold--line:empty, [id$='-pad']:empty";

let socket = null;
let isConnected = false;

const reconnectDelay = (tries) => (tries < 20 ? 300 + 900 * Math.random() : 2000 + 6000 * Math.random());
htmx.config.wsReconnectDelay = reconnectDelay;

const send = (form) => {
  if (isConnected) socket.send(JSON.stringify(form));
};

// Following the end: only while the reader hasn't left it.

const gap = () => page.scrollHeight - page.scrollTop - page.clientHeight;

let isFollowing = gap() <= EDGE_PX;
let lastTop = page.scrollTop;

const showJump = () => {
  jump.hidden = isFollowing || gap() <= EDGE_PX;
  if (jump.hidden) delete jump.dataset.new;
};

const follow = (toTheEnd) => {
  isFollowing = toTheEnd;
  if (toTheEnd) page.scrollTop = page.scrollHeight;
  showJump();
};

const keepUp = () => {
  if (!isFollowing) jump.dataset.new = "";
  follow(isFollowing);
};

addEventListener("scroll", () => {
  const hasRisen = page.scrollTop < lastTop;
  const isAtEnd = gap() <= EDGE_PX;
  if (hasRisen !== isAtEnd) isFollowing = isAtEnd;
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
new ResizeObserver(() => isFollowing && follow(true)).observe(document.getElementById("messages"));

jump.addEventListener("click", () => follow(true));
document.addEventListener("htmx:wsAfterSend", () => follow(true));

// Text of open blocks, joined and drawn by the clock.

const waiting = new Map(); // element id -> { n, text, isWhole }
let drawnAt = 0;
let timer = 0;
let syncedAt = 0;

const sync = () => {
  const last = [...chat.querySelectorAll("#messages > [data-role=assistant]")].at(-1);
  syncedAt = performance.now();
  send({ action: "sync", last: last?.dataset.messageId ?? "", status: last?.dataset.status ?? "" });
};

const write = (element, text) => {
  const last = element.lastChild;
  if (last?.nodeType === Node.TEXT_NODE) last.appendData(text);
  else element.append(text);
};

const startPart = (element, text) => {
  const part = document.createElement("div");
  part.append(text);
  element.append(part);
};

const writeLong = (element, text) => {
  const part = element.lastElementChild ?? element;
  const cut = part.textContent.length > PART_CHARS ? text.indexOf("\n") + 1 : 0;
  write(part, cut ? text.slice(0, cut) : text);
  if (cut) startPart(element, text.slice(cut));
};

const drawThinking = (element, { text, isWhole }) => {
  const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < EDGE_PX / 2;
  if (isWhole) element.replaceChildren();
  if (isWhole) startPart(element, text);
  else writeLong(element, text);
  if (isAtEnd || isWhole) element.scrollTop = element.scrollHeight;
  element.toggleAttribute("data-faded", element.scrollTop > 0);
};

const drawPiece = (id, piece) => {
  const element = document.getElementById(id);
  if (!element) return;
  element.dataset.n = piece.n;
  if (element.matches(".think")) return drawThinking(element, piece);
  if (piece.isWhole) element.replaceChildren();
  write(element, piece.text);
};

const draw = () => {
  clearTimeout(timer);
  timer = 0;
  if (!waiting.size) return;
  drawnAt = performance.now();
  waiting.forEach((piece, id) => drawPiece(id, piece));
  waiting.clear();
  keepUp();
};

const takeText = ({ id, n, text }) => {
  const element = document.getElementById(id);
  if (!element) return;
  const before = waiting.get(id) ?? { n: Number(element.dataset.n), text: "", isWhole: false };
  if (n === 0) waiting.set(id, { n, text, isWhole: true });
  else if (n === before.n + 1) waiting.set(id, { ...before, n, text: before.text + text });
  else if (n > before.n && performance.now() - syncedAt > SYNC_MS) sync();
  timer ||= setTimeout(draw, Math.max(0, drawnAt + DRAW_MS - performance.now()));
};

// Everything else that comes as JSON.

const prune = (card) => {
  card.querySelectorAll(NOTHING_TO_SHOW).forEach((shell) => shell.remove());
  card.querySelector(".work:not(:has(.fold))")?.remove();
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
  const composer = chat.querySelector("[data-composer]");
  const stop = composer.querySelector("[data-stop]");
  if (!running && stop === document.activeElement) composer.elements.text.focus(); // else it would be lost
  composer.toggleAttribute("data-running", running);
  stop.hidden = !running;
};

const announce = ({ announce: text, assertive }) => {
  document.getElementById(assertive ? "alert-node" : "status-node").textContent = text;
};

const take = (frame) => {
  if ("text" in frame) return takeText(frame);
  draw();
  if ("card" in frame) return markCard(frame);
  if ("running" in frame) return setRunning(frame);
  if ("announce" in frame) return announce(frame);
  if ("gone" in frame) location.reload();
};

document.addEventListener("htmx:wsBeforeMessage", (event) => {
  const { message } = event.detail;
  if (!message.startsWith("{")) return draw(); // what came before a swap belongs to what is swapped
  event.preventDefault();
  take(JSON.parse(message));
});

document.addEventListener("htmx:wsAfterMessage", keepUp);

// The connection.

document.addEventListener("htmx:wsOpen", ({ detail }) => {
  socket = detail.socketWrapper;
  isConnected = true;
  banner.hidden = true;
  sync();
});

document.addEventListener("htmx:wsClose", ({ detail }) => {
  const { code } = detail.event;
  isConnected = false;
  if (code === 4401) return location.assign(chat.dataset.login);
  if (code === 4404) return location.reload();
  banner.hidden = false;
  if (!RETRIED_BY_HTMX.includes(code)) setTimeout(() => detail.socketWrapper.reconnect(), reconnectDelay(0));
});

document.addEventListener("legible:send", ({ detail }) => send(detail));

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-stop]") || !isConnected) return;
  event.preventDefault();
  send({ action: "stop" });
});

// A switch was thrown: draw the messages again as this viewer may see them now, and keep the place.

const holdPlace = () => {
  const card = [...document.getElementById("messages").children].find((one) => one.getBoundingClientRect().bottom > 0);
  const top = card?.getBoundingClientRect().top;
  return () => {
    const drawnAgain = card && document.getElementById(card.id);
    if (drawnAgain) scrollBy(0, drawnAgain.getBoundingClientRect().top - top);
  };
};

const flip = (form) => {
  const button = form.querySelector("[role=switch]");
  if (!button) return;
  const isOn = form.elements.on.value;
  button.setAttribute("aria-checked", isOn);
  form.elements.on.value = isOn !== "true";
};

let returnToPlace = () => {};

document.addEventListener("htmx:afterRequest", ({ target, detail }) => {
  if (!detail.successful || !target.matches("[data-refresh]")) return;
  flip(target);
  send({ action: "refresh" });
  returnToPlace = holdPlace();
  htmx.ajax("GET", chat.dataset.messages, { target: "#messages", swap: "innerHTML" });
});

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.id !== "messages") return;
  waiting.clear();
  returnToPlace();
  sync();
});

document.addEventListener("htmx:responseError", () => announce({ announce: chat.dataset.failed, assertive: true }));

const [visit] = performance.getEntriesByType("navigation");
if (!location.hash && visit?.type === "navigate" && document.getElementById("messages").childElementCount) follow(true);
