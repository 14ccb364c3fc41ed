// Disclosures of a card: what a person opens stays open in this tab; thinking is fetched on first opening.
// A toggle of thinking by a person fires "svmai:event" once, on its button. Copy buttons are here too.

const FRAGILE = /(\[redacted\]|[^\s*]{0,3}\*{3}@[\w.-]+|…\(truncated\))/;
const PANEL_ID = /^m-(.+)-(summary|trace|scratchpad)$/;
const MEMORY_KEY = /^(thinking|summary|trace|scratchpad):(.+)$/;
const COPIED_MS = 2000;

const words = document.querySelector("[data-copied]")?.dataset ?? {};

const send = (form) => document.dispatchEvent(new CustomEvent("legible:send", { detail: form }));

const say = (text) => {
  document.querySelector("[data-status-node]").textContent = text;
};

const remember = (kind, id, isOpen) => sessionStorage.setItem(`${kind}:${id}`, isOpen ? "open" : "closed");

const keepInPlace = (element, change) => {
  const before = element.getBoundingClientRect().top;
  change();
  scrollBy(0, element.getBoundingClientRect().top - before);
};

const readText = async (url) => {
  const response = await fetch(url);
  if (!response.ok || response.redirected) throw new Error(`${url}: ${response.status}`);
  return response.text();
};

// Thinking.

const cardOf = (element) => element.closest("[data-message-id]");
const isLive = (box) => cardOf(box).dataset.status === "streaming";
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
  const url = text.dataset.url ?? box.querySelector("[data-url]")?.dataset.url;
  if (!url) return;
  try {
    const whole = await readText(url);
    const { scrollTop } = text;
    text.replaceChildren(...withMasks(whole));
    text.scrollTop = scrollTop;
  } catch {
    say(words.notRead);
  }
};

const fill = (box) => {
  if (isLive(box)) send({ action: "open", part: "thinking", id: cardOf(box).dataset.messageId });
  else if (!textOf(box).textContent) load(box);
};

const release = (box) => {
  if (!isLive(box)) return;
  send({ action: "close", part: "thinking", id: cardOf(box).dataset.messageId });
  textOf(box).replaceChildren();
  textOf(box).dataset.n = 0;
};

const setOpen = (box, open) => {
  const button = box.querySelector("[data-ai-reasoning-toggle]");
  button.setAttribute("aria-expanded", open);
  document.getElementById(button.getAttribute("aria-controls")).hidden = !open;
  box.dataset.collapsed = !open;
  if (open) fill(box);
  else release(box);
};

const tell = (button, box, expanded) => {
  const payload = { msgId: cardOf(box).dataset.messageId, expanded, tokens: Number.parseInt(box.dataset.tokenEst, 10) };
  const detail = { type: "reasoning_toggle", payload };
  button.dispatchEvent(new CustomEvent("svmai:event", { bubbles: true, detail }));
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-ai-reasoning-toggle]");
  if (!button) return;
  event.preventDefault();
  const box = button.closest("[data-ai-reasoning]");
  const open = !isOpen(box);
  keepInPlace(button, () => setOpen(box, open));
  remember("thinking", cardOf(box).dataset.messageId, open);
  tell(button, box, open);
});

document.addEventListener("htmx:wsOpen", () => {
  // A new socket knows nothing of what is open here.
  document.querySelectorAll("[data-status=streaming] [data-collapsed=false]").forEach(fill);
});

document.addEventListener("legible:settled", ({ target }) => {
  const box = target.querySelector("[data-ai-reasoning]");
  if (box && isOpen(box)) load(box);
});

// Summary, steps and scratchpad are native disclosures.

document.addEventListener("click", ({ target }) => {
  const bar = target.closest("summary");
  const [, id, kind] = PANEL_ID.exec(bar?.parentElement.id ?? "") ?? [];
  if (!kind) return;
  const before = bar.getBoundingClientRect().top;
  remember(kind, id, !bar.parentElement.open);
  requestAnimationFrame(() => scrollBy(0, bar.getBoundingClientRect().top - before));
});

const restoreOne = (kind, panel, open) => {
  if (kind !== "thinking") panel.open = open;
  else if (isOpen(panel) !== open) setOpen(panel, open);
};

const restore = () => {
  for (const key of Object.keys(sessionStorage)) {
    const [, kind, id] = MEMORY_KEY.exec(key) ?? [];
    const panel = kind && document.getElementById(`m-${id}-${kind}`);
    if (panel) restoreOne(kind, panel, sessionStorage.getItem(key) === "open");
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
