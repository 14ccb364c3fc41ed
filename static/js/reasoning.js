// Disclosures of a card: what a person opens stays open in this tab; thinking is fetched on first opening.
// A toggle of thinking by a person fires "svmai:event" once, on its button. Copying is here too.

const FRAGILE = /(\[redacted\]|[^\s*]{0,3}\*{3}@[\w.-]+|…\(truncated\))/;
const COPIED_MS = 2000;

const words = document.querySelector("[data-copied]").dataset;

const say = (text) => {
  document.querySelector("[data-status-node]").textContent = text;
};

const remember = (panel, state) => sessionStorage.setItem(panel.id, state);

const holdPlace = (element) => {
  const before = element.getBoundingClientRect().top;
  return () => scrollBy(0, element.getBoundingClientRect().top - before);
};

const readText = async (url) => {
  const response = await fetch(url);
  if (!response.ok || response.redirected) throw new Error(`${url}: ${response.status}`);
  return response.text();
};

// Thinking.

const cardOf = (box) => box.closest("[data-message-id]").dataset;
const isLive = (box) => cardOf(box).status === "streaming";
const isOpen = (box) => box.dataset.collapsed === "false";
const textOf = (box) => box.querySelector(".think");

const withMasks = (text) =>
  text.split(FRAGILE).map((part, index) => {
    if (index % 2 === 0) return part;
    const mask = document.createElement("span");
    mask.className = "mask";
    mask.textContent = part;
    return mask;
  });

const load = async (box) => {
  const text = textOf(box);
  const url = box.querySelector("[data-url]")?.dataset.url;
  if (!url) return;
  try {
    const whole = await readText(url);
    const { scrollTop } = text;
    text.replaceChildren(...withMasks(whole));
    text.scrollTop = scrollTop;
    text.style.minHeight = "";
    if (isOpen(box)) remember(box, text.offsetHeight);
  } catch {
    say(words.notRead);
  }
};

const subscribe = (box, action) => {
  const detail = { action, part: "thinking", id: cardOf(box).messageId };
  document.dispatchEvent(new CustomEvent("legible:send", { detail }));
};

const fill = (box) => {
  if (isLive(box)) subscribe(box, "open");
  else if (!textOf(box).textContent) load(box);
};

const release = (box) => {
  if (!isLive(box)) return;
  subscribe(box, "close");
  textOf(box).replaceChildren();
  textOf(box).dataset.n = 0;
};

const setOpen = (box, open) => {
  const button = box.querySelector("[data-ai-reasoning-toggle]");
  button.setAttribute("aria-expanded", open);
  textOf(box).hidden = !open;
  box.dataset.collapsed = !open;
  if (open) fill(box);
  else release(box);
};

const tell = (button, box, expanded) => {
  const payload = { msgId: cardOf(box).messageId, expanded, tokens: Number(box.dataset.tokenEst) };
  const detail = { type: "reasoning_toggle", payload };
  button.dispatchEvent(new CustomEvent("svmai:event", { bubbles: true, detail }));
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-ai-reasoning-toggle]");
  if (!button) return;
  event.preventDefault();
  const box = button.closest("[data-ai-reasoning]");
  const open = !isOpen(box);
  const stay = holdPlace(button);
  setOpen(box, open);
  stay();
  remember(box, open);
  tell(button, box, open);
});

document.addEventListener("htmx:wsOpen", () => {
  // A new socket knows nothing of it.
  document.querySelectorAll("[data-status=streaming] [data-collapsed=false]").forEach(fill);
});

document.addEventListener("legible:settled", ({ target }) => {
  const box = target.querySelector("[data-ai-reasoning]");
  if (box && isOpen(box)) load(box);
});

// Summary, steps and scratchpad are native disclosures.

document.addEventListener("click", ({ target }) => {
  const bar = target.closest("[id^=m-] > summary");
  if (!bar) return;
  remember(bar.parentElement, !bar.parentElement.open);
  requestAnimationFrame(holdPlace(bar));
});

// Thinking has left its height: its text, which comes later, moves nothing.
const restoreOne = (panel, state) => {
  const open = state !== "false";
  if (panel.matches("details")) return (panel.open = open);
  if (isOpen(panel) === open) return;
  textOf(panel).style.minHeight = `${state}px`;
  setOpen(panel, open);
};

const restore = () => {
  for (const [id, state] of Object.entries(sessionStorage)) {
    const panel = document.getElementById(id);
    if (panel) restoreOne(panel, state);
  }
};

restore();
document.addEventListener("htmx:wsAfterMessage", restore);
document.addEventListener("htmx:afterSwap", restore);

// Copy. Plain http has no clipboard interface, hence the old way as well.

const copyOldWay = (text) => {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  if (!isDone) throw new Error("not copied");
};

const copyText = async (text) => {
  if (navigator.clipboard) await navigator.clipboard.writeText(await text);
  else copyOldWay(await text);
};

const showCopied = (button) => {
  const label = [...button.childNodes].findLast((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  say(words.copied);
  if (!label || label.data === words.copied) return;
  const before = label.data;
  label.data = words.copied;
  setTimeout(() => { label.data = before; }, COPIED_MS);
};

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy], [data-copy-trace], [data-copy-code], [data-copy-link]");
  if (!button) return;
  const url = button.dataset.copy ?? button.dataset.copyTrace;
  const text = () => button.dataset.copyLink ?? button.closest("figure").querySelector("code").textContent;
  try {
    await copyText(url ? readText(url) : text());
    showCopied(button);
  } catch {
    say(words.notCopied);
  }
});

// Of a selection, what belongs to questions and answers is copied; all of it where none does. Says the style sheet.

document.addEventListener("copy", () => {
  const { dataset } = document.documentElement;
  dataset.copying = "";
  if (!`${getSelection()}`.trim()) delete dataset.copying;
  setTimeout(() => delete dataset.copying);
});
