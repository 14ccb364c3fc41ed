// Copy buttons, and what a copied selection contains.

const COPIED_MS = 2000;
const labels = document.querySelector("[data-copied]").dataset;

const announce = (text) => {
  document.querySelector("[data-status-node]").textContent = text;
};

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
