// The page around the messages: the composer, the seconds that tick, the drawer, Escape.

const composer = document.querySelector("[data-composer]");

// Drawers close when a place in them is chosen, and when the page is left.

document.addEventListener("click", ({ target }) => {
  if (target.closest("a")) target.closest(":popover-open")?.hidePopover();
});

addEventListener("pagehide", () => document.querySelector(":popover-open")?.hidePopover());

// Seconds of what is being worked on. The first sight of one fixes when it began.

const began = new WeakMap();

const tick = (figure) => {
  const now = performance.now();
  if (!began.has(figure)) began.set(figure, now - 1000 * figure.dataset.elapsed);
  figure.textContent = figure.textContent.replace(/\d+/, Math.floor((now - began.get(figure)) / 1000));
};

if (composer) setInterval(() => document.querySelectorAll("[data-live] [data-elapsed]").forEach(tick), 1000);

// The composer. What was sent is kept until the server took it, sent again after a reconnect, and given back if refused.

const sent = new Map(); // client id -> text
const area = composer?.elements.text;
const button = composer?.querySelector("[data-send]");

// Plain http on a local network has no randomUUID.
const newId = () =>
  crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join("");

const isTooLong = (text, limit) => text.length > limit && [...text].length > limit;

const fit = () => {
  if (CSS.supports("field-sizing", "content")) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
};

const refresh = () => {
  button.disabled = !area.value.trim();
  area.setCustomValidity(isTooLong(area.value, Number(area.dataset.limit)) ? area.dataset.tooLong : "");
  fit();
};

const setText = (text) => {
  area.value = text;
  refresh();
};

const giveBack = (id) => {
  const text = sent.get(id);
  sent.delete(id);
  if (text) setText(area.value ? `${text}\n${area.value}` : text);
};

let lastAnswer = document.getElementById("composer-error");

const takeAnswer = () => {
  const answer = document.getElementById("composer-error");
  if (answer === lastAnswer) return;
  lastAnswer = answer;
  if (answer.dataset.rejected) giveBack(answer.dataset.rejected);
  else if (answer.hidden) sent.delete(sent.keys().next().value);
};

const configureSend = (event) => {
  const text = String(event.detail.parameters.text ?? "").trim();
  if (!text) return event.preventDefault();
  const id = newId();
  sent.set(id, text);
  event.detail.messageBody = JSON.stringify({ text, id });
  if (event.target === composer) setText("");
};

const sendAgain = ({ detail }) =>
  sent.forEach((text, id) => {
    const isQueued = detail.socketWrapper.queue.some(({ message }) => message.includes(id));
    if (!isQueued) detail.socketWrapper.send(JSON.stringify({ text, id }));
  });

const onKey = (event) => {
  const isPlainEnter = event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229;
  if (!isPlainEnter) return;
  event.preventDefault();
  if (area.value.trim()) composer.requestSubmit();
};

if (composer) {
  area.addEventListener("input", refresh);
  area.addEventListener("keydown", onKey);
  document.addEventListener("htmx:wsConfigSend", configureSend);
  document.addEventListener("htmx:wsOpen", sendAgain);
  document.addEventListener("htmx:wsAfterMessage", takeAnswer);
  refresh();
}

document.addEventListener("keydown", ({ key, shiftKey }) => {
  if (key !== "Escape" || !composer || document.querySelector(":popover-open, dialog[open]")) return;
  if (shiftKey) area.focus();
  else if (composer.hasAttribute("data-running")) composer.querySelector("[data-stop]").click();
});
