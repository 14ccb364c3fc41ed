// Cards: their disclosures and times, their citations and copy buttons. Pages with copy buttons alone load it too.
// What a person opens stays open in this tab; thinking is loaded when it is first opened. A toggle of thinking by a
// person fires "svmai:event" once, on its button.

const MASKS = /(\[redacted\]|[^\s*]{0,3}\*{3}@[\w.-]+|…\(truncated\))/; // what redaction leaves, see .mask
const labels = document.querySelector("[data-copied]").dataset;

const announce = (text) => {
  document.querySelector("[data-status-node]").textContent = text;
};

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
    announce(labels.notRead);
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

// Elapsed seconds of a running answer, those until a busy service is asked again, and the time that the scratchpad's
// switch has left.

const startedAt = new WeakMap(); // element -> milliseconds

const updateSeconds = (element) => {
  const now = performance.now();
  if (!startedAt.has(element)) startedAt.set(element, now - 1000 * element.dataset.elapsed);
  element.textContent = element.textContent.replace(/\d+/, Math.floor((now - startedAt.get(element)) / 1000));
};

const endsAt = new WeakMap(); // element -> milliseconds

const secondsLeft = (element, atFirst) => {
  const now = performance.now();
  if (!endsAt.has(element)) endsAt.set(element, now + 1000 * atFirst);
  return Math.max(0, Math.round((endsAt.get(element) - now) / 1000));
};

const updateRemaining = (element) => {
  element.textContent = element.textContent.replace(/\d+/, secondsLeft(element, element.dataset.remaining));
};

const updateTimeLeft = (element) => {
  const left = secondsLeft(element, element.dataset.left);
  const time = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  element.textContent = element.textContent.replace(/\d+:\d+/, time);
};

setInterval(() => {
  document.querySelectorAll("[data-live] [data-elapsed]").forEach(updateSeconds);
  document.querySelectorAll("[data-live] [data-remaining]").forEach(updateRemaining);
  document.querySelectorAll("[data-left]").forEach(updateTimeLeft);
}, 1000);

// Citations: a preview of the cited passage on hover and focus, and the reader beside the answer on wide screens.

const SHOW_AFTER_MS = 150;
const HIDE_AFTER_MS = 250; // long enough to move the pointer into the preview
const GAP_PX = 6;
const isWide = matchMedia("(width >= 70rem)");

const preview = document.getElementById("citation-preview"); // pages without cards have none
const reader = document.getElementById("reader"); // shared pages have none

let shownFor = null; // the link whose passage is previewed
let previewTimer = 0;

// A page of another site is no page of the reader; its link has a rel.
const placeOf = ({ pathname, hash, href, rel }) => rel ? href : pathname + hash;

// On a shared page a citation leads to its excerpt; elsewhere that is in the row of sources, which names its passage.
const excerptOf = (link) => {
  if (link.getAttribute("href").startsWith("#")) return document.getElementById(link.hash.slice(1));
  const sources = link.closest(".card")?.querySelectorAll(".sources a[data-citation]") ?? [];
  return [...sources].find((source) => placeOf(source) === placeOf(link))?.parentElement.querySelector("template")?.content;
};

const placePreview = () => {
  const link = shownFor.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = preview;
  const below = link.bottom + GAP_PX;
  const isAbove = below + offsetHeight > innerHeight && link.top - GAP_PX > offsetHeight;
  preview.style.top = `${isAbove ? link.top - GAP_PX - offsetHeight : below}px`;
  preview.style.left = `${Math.max(GAP_PX, Math.min(link.left, innerWidth - offsetWidth - GAP_PX))}px`;
};

const hidePreview = () => {
  clearTimeout(previewTimer);
  if (!shownFor) return;
  shownFor.removeAttribute("aria-describedby");
  shownFor = null;
  preview.hidePopover();
};

const showPreview = (link) => {
  clearTimeout(previewTimer);
  if (link === shownFor) return;
  const excerpt = excerptOf(link);
  if (!excerpt) return;
  hidePreview();
  shownFor = link;
  preview.replaceChildren(...[...excerpt.children].map((child) => child.cloneNode(true)));
  if (link.dataset.verified !== "false") link.removeAttribute("title"); // the preview says more
  else preview.querySelectorAll("mark").forEach((mark) => mark.replaceWith(...mark.childNodes)); // another quotation
  link.setAttribute("aria-describedby", preview.id);
  preview.showPopover();
  placePreview();
};

const schedulePreview = (action, ms) => {
  clearTimeout(previewTimer);
  previewTimer = setTimeout(action, ms);
};

document.addEventListener("pointerover", ({ target, pointerType }) => {
  if (pointerType !== "mouse") return;
  const link = target.closest("a[data-citation]");
  if (link) schedulePreview(() => showPreview(link), SHOW_AFTER_MS);
  else if (preview?.contains(target)) clearTimeout(previewTimer);
  else schedulePreview(hidePreview, shownFor ? HIDE_AFTER_MS : 0);
});

document.addEventListener("focusin", ({ target }) => {
  if (target.matches("a[data-citation]:focus-visible")) showPreview(target);
  else if (!preview?.contains(target)) hidePreview();
});

document.addEventListener("focusout", ({ target }) => {
  if (target === shownFor) hidePreview();
});

// Escape closes a preview and open figures, which lie over other controls. In the capture phase, so that it doesn't stop
// the answer as well.
document.addEventListener("keydown", (event) => {
  const figures = document.querySelector(".numbers[open]");
  if (event.key !== "Escape" || (!shownFor && !figures)) return;
  event.preventDefault();
  event.stopPropagation();
  hidePreview();
  if (figures) figures.open = false;
}, { capture: true });

document.addEventListener("scroll", ({ target }) => {
  if (shownFor?.isConnected && !preview?.contains(target)) placePreview();
  else if (!preview?.contains(target)) hidePreview();
}, { capture: true, passive: true });

// The reader.

let openedFrom = null;

const closeReader = () => {
  reader.hidden = true;
  reader.replaceChildren();
  if (openedFrom?.isConnected) openedFrom.focus();
};

const openReader = async (link) => {
  hidePreview();
  const response = await fetch(link.href, { headers: { "HX-Request": "true" } }).catch(() => null);
  // Without a session the sign-in comes.
  if (!response?.ok || response.redirected) return location.assign(link.href);
  const top = link.getBoundingClientRect().top;
  if (!reader.contains(link)) openedFrom = link;
  htmx.swap(reader, await response.text(), { swapStyle: "innerHTML" });
  if (reader.querySelector("[data-page-picture]")) import("./page_pictures.js");
  reader.hidden = false;
  // The column beside it is narrower now: the link stays where it was.
  scrollBy(0, link.getBoundingClientRect().top - top);
  const cited = reader.querySelector("mark, [data-cited]");
  if (cited) reader.scrollTop += cited.getBoundingClientRect().top - reader.getBoundingClientRect().top - reader.clientHeight / 3;
  reader.focus({ preventScroll: true });
};

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-citation]");
  if (reader && event.target.closest("[data-close-reader]")) return closeReader();
  if (!link) return preview?.contains(event.target) ? undefined : hidePreview();
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const card = link.closest("[data-message-id]");
  if (card) sessionStorage.setItem("legible:cited-in", `${location.pathname}#${card.id}`); // for Back of the reader's page
  if (link.getAttribute("href").startsWith("#")) {
    event.preventDefault();
    showPreview(link);
  } else if (reader && isWide.matches && !link.rel) {
    event.preventDefault();
    openReader(link);
  }
});

reader?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  closeReader();
});

// Copy buttons, and what a copied selection contains.

const COPIED_MS = 2000;

const fetchText = async (url) => {
  const response = await fetch(url);
  if (!response.ok || response.redirected) throw new Error(`${url}: ${response.status}`);
  return response.text();
};

// On plain http there is no navigator.clipboard.
const copyWithoutClipboard = (text) => {
  const textarea = document.createElement("textarea");
  textarea.value = text;
  document.body.append(textarea);
  textarea.select();
  const isCopied = document.execCommand("copy");
  textarea.remove();
  if (!isCopied) throw new Error("not copied");
};

const copyText = async (text) => {
  if (navigator.clipboard) await navigator.clipboard.writeText(await text);
  else copyWithoutClipboard(await text);
};

const showCopied = (button) => {
  const label = [...button.childNodes].findLast((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  announce(labels.copied);
  if (!label || label.data === labels.copied) return;
  const before = label.data;
  label.data = labels.copied;
  setTimeout(() => { label.data = before; }, COPIED_MS);
};

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy], [data-copy-trace], [data-copy-code], [data-copy-link]");
  if (!button) return;
  const url = button.dataset.copy ?? button.dataset.copyTrace;
  const ownText = () => button.dataset.copyLink ?? button.closest("figure").querySelector("code").textContent;
  try {
    await copyText(url ? fetchText(url) : ownText());
    showCopied(button);
  } catch {
    announce(labels.notCopied);
  }
});

// A selection over whole cards copies questions and answers only: the style sheet hides the rest from it meanwhile.
document.addEventListener("copy", () => {
  const { dataset } = document.documentElement;
  dataset.copying = "";
  if (!`${getSelection()}`.trim()) delete dataset.copying; // nothing of those is selected: copy all of it
  setTimeout(() => delete dataset.copying);
});
