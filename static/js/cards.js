// Cards: their disclosures and times.
// What a person opens stays open in this tab; thinking is loaded when it is first opened. A toggle of thinking by a
// person fires "svmai:event" once, on its button.

const MASKS = /(\[redacted\]|[^\s*]{0,3}\*{3}@[\w.-]+|…\(truncated\))/; // what redaction leaves, see .mask
const labels = document.querySelector("[data-copied]").dataset;

const remember = (panel, state) => sessionStorage.setItem(panel.id, state);

const holdElement = (element) => {
  const before = element.getBoundingClientRect().top;
  return () => scrollBy(0, element.getBoundingClientRect().top - before);
};

// Thinking: a box with data-collapsed, holding the toggle and the text.

const cardData = (box) => box.closest("[data-message-id]").dataset;
const isLive = (box) => cardData(box).status === "streaming";
const isOpen = (box) => box.dataset.collapsed === "false";
const textOf = (box) => box.querySelector(".thinking-text");

const markMasks = (text) =>
  text.split(MASKS).map((part, index) => {
    if (index % 2 === 0) return part;
    const mask = document.createElement("span");
    mask.className = "mask";
    mask.textContent = part;
    return mask;
  });

const load = async (box) => {
  const element = textOf(box);
  const url = box.querySelector("[data-url]")?.dataset.url;
  if (!url) return;
  try {
    const response = await fetch(url);
    if (!response.ok || response.redirected) throw new Error(`${url}: ${response.status}`);
    const text = await response.text();
    const { scrollTop } = element;
    element.replaceChildren(...markMasks(text));
    element.scrollTop = scrollTop;
    element.style.minHeight = "";
    if (isOpen(box)) remember(box, element.offsetHeight);
  } catch {
    document.querySelector("[data-status-node]").textContent = labels.notRead;
  }
};

// While the card streams, its thinking comes over the socket, to pages that have subscribed.
const subscribe = (box, action) => {
  const detail = { action, part: "thinking", id: cardData(box).messageId };
  document.dispatchEvent(new CustomEvent("legible:send", { detail }));
};

const fill = (box) => {
  if (isLive(box)) subscribe(box, "open");
  else if (!textOf(box).textContent) load(box);
};

const unsubscribe = (box) => {
  if (!isLive(box)) return;
  subscribe(box, "close");
  textOf(box).replaceChildren();
  textOf(box).dataset.n = 0;
};

const setOpen = (box, open) => {
  box.querySelector("[data-ai-reasoning-toggle]").setAttribute("aria-expanded", open);
  textOf(box).hidden = !open;
  box.dataset.collapsed = !open;
  if (open) fill(box);
  else unsubscribe(box);
};

const fireToggleEvent = (button, box, expanded) => {
  const payload = { msgId: cardData(box).messageId, expanded, tokens: Number(box.dataset.tokenEst) };
  const detail = { type: "reasoning_toggle", payload };
  button.dispatchEvent(new CustomEvent("svmai:event", { bubbles: true, detail }));
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-ai-reasoning-toggle]");
  if (!button) return;
  event.preventDefault();
  const box = button.closest("[data-ai-reasoning]");
  const open = !isOpen(box);
  const restorePosition = holdElement(button);
  setOpen(box, open);
  restorePosition();
  remember(box, open);
  fireToggleEvent(button, box, open);
});

document.addEventListener("htmx:wsOpen", () => {
  // A new socket has no subscriptions.
  document.querySelectorAll("[data-status=streaming] [data-collapsed=false]").forEach(fill);
});

document.addEventListener("legible:settled", ({ target }) => {
  const box = target.querySelector("[data-ai-reasoning]");
  if (box && isOpen(box)) load(box);
});

// Summary, steps and scratchpad are <details>.

document.addEventListener("click", ({ target }) => {
  const bar = target.closest("[id^=m-] > summary");
  if (!bar) return;
  remember(bar.parentElement, !bar.parentElement.open);
  requestAnimationFrame(holdElement(bar));
});

// Restore what was open. The height of thinking is stored too, so that loading its text moves nothing.

const restorePanel = (panel, state) => {
  const open = state !== "false";
  if (panel.matches("details")) return (panel.open = open);
  if (isOpen(panel) === open) return;
  textOf(panel).style.minHeight = `${state}px`;
  setOpen(panel, open);
};

const restore = () => {
  for (const [id, state] of Object.entries(sessionStorage)) {
    const panel = document.getElementById(id);
    if (panel) restorePanel(panel, state);
  }
};

restore();
document.addEventListener("htmx:wsAfterMessage", restore);
document.addEventListener("htmx:afterSwap", restore);

// Times in the time zone of the browser; the server writes them in the site's.

const timeFormat = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const fullFormat = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "full", timeStyle: "short" });

const showLocalTimes = () => {
  document.querySelectorAll(".card time[datetime]:not([title])").forEach((element) => {
    const time = new Date(element.dateTime);
    element.textContent = timeFormat.format(time);
    element.title = fullFormat.format(time);
  });
};

showLocalTimes();
["htmx:afterSwap", "htmx:wsAfterMessage"].forEach((name) => document.addEventListener(name, showLocalTimes));

// Elapsed seconds of a running answer, and the time that the scratchpad's switch has left.

const startedAt = new WeakMap(); // element -> milliseconds

const updateSeconds = (element) => {
  const now = performance.now();
  if (!startedAt.has(element)) startedAt.set(element, now - 1000 * element.dataset.elapsed);
  element.textContent = element.textContent.replace(/\d+/, Math.floor((now - startedAt.get(element)) / 1000));
};

const endsAt = new WeakMap(); // element -> milliseconds

const updateTimeLeft = (element) => {
  const now = performance.now();
  if (!endsAt.has(element)) endsAt.set(element, now + 1000 * element.dataset.left);
  const left = Math.max(0, Math.round((endsAt.get(element) - now) / 1000));
  const time = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  element.textContent = element.textContent.replace(/\d+:\d+/, time);
};

setInterval(() => {
  document.querySelectorAll("[data-live] [data-elapsed]").forEach(updateSeconds);
  document.querySelectorAll("[data-left]").forEach(updateTimeLeft);
}, 1000);
