// The composer: sending over the socket, Enter, the length limit, the Stop button and Escape.
// A sent text is remembered until the server has accepted it, and put back if it is refused.

const composer = document.querySelector("[data-composer]");
const textarea = composer?.elements.text;
const sendButton = composer?.querySelector("[data-send]");
const banner = document.getElementById("connection");

const sentMessages = new Map(); // client id -> { text, attachments, chips }
let socketState = "none"; // none: no socket yet, so the form is posted; open; closed
let stopWhenConnected = ""; // id of the turn to stop

// crypto.randomUUID exists on https and localhost only.
const newId = () =>
  crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join("");

// The server counts code points; the spread is needed only for texts with surrogate pairs near the limit.
const isTooLong = (text, limit) => text.length > limit && [...text].length > limit;

const fitHeight = () => {
  if (CSS.supports("field-sizing", "content")) return;
  textarea.style.height = "auto";
  textarea.style.height = `${textarea.scrollHeight}px`;
};

const attached = document.getElementById("attached");
const isUploading = () => composer.querySelector("[data-uploading]") !== null;

// The files of the next message leave the composer with it, and come back if it is refused.
const takeFiles = () => {
  const chips = [...attached.querySelectorAll("[data-attachment]")];
  chips.forEach((chip) => chip.remove());
  return { attachments: chips.map((chip) => chip.dataset.attachment), chips };
};

const updateComposer = () => {
  sendButton.disabled = !textarea.value.trim() || isUploading();
  const limit = Number(textarea.dataset.limit);
  textarea.setCustomValidity(isTooLong(textarea.value, limit) ? textarea.dataset.tooLong : "");
  fitHeight();
};

const setText = (text) => {
  textarea.value = text;
  updateComposer();
};

// Keeps what was typed since.
const addDraft = (text) => setText(textarea.value ? `${text}\n${textarea.value}` : text);

const configureSend = (event) => {
  const text = String(event.detail.parameters.text ?? "").trim();
  const isComposer = event.target === composer;
  if (!text || (isComposer && isUploading())) return event.preventDefault();
  const id = newId();
  const { attachments, chips } = isComposer ? takeFiles() : { attachments: [], chips: [] };
  sentMessages.set(id, { text, attachments, chips });
  event.detail.messageBody = JSON.stringify({ text, id, attachments });
  if (isComposer) setText("");
};

// After a reconnect, send again what was not acknowledged; the server ignores an id that it knows.
const resend = ({ detail }) =>
  sentMessages.forEach(({ text, attachments }, id) => {
    const isQueued = detail.socketWrapper.queue.some(({ message }) => message.includes(id));
    if (!isQueued) detail.socketWrapper.send(JSON.stringify({ text, id, attachments }));
  });

// Each reply replaces #composer-error. Hidden: the oldest message was accepted. With data-rejected: that one was refused.
let lastReply = document.getElementById("composer-error");

const handleReply = () => {
  const reply = document.getElementById("composer-error");
  if (reply === lastReply) return;
  lastReply = reply;
  const { rejected } = reply.dataset;
  if (rejected) {
    const { text, chips } = sentMessages.get(rejected) ?? { chips: [] };
    sentMessages.delete(rejected);
    attached.prepend(...chips);
    if (text) addDraft(text);
  } else if (reply.hidden) {
    sentMessages.delete(sentMessages.keys().next().value);
  }
};

const sendOnEnter = (event) => {
  // keyCode 229: Safari ends an IME composition with an Enter that says it is not composing.
  const isEnter = event.key === "Enter" && !event.isComposing && event.keyCode !== 229;
  if (!isEnter || event.shiftKey !== textarea.hasAttribute("data-enter-breaks")) return;
  event.preventDefault();
  if (textarea.value.trim()) composer.requestSubmit();
};

if (composer) {
  textarea.addEventListener("input", updateComposer);
  composer.addEventListener("legible:attached", updateComposer);
  textarea.addEventListener("keydown", sendOnEnter);
  document.addEventListener("htmx:wsConfigSend", configureSend);
  document.addEventListener("htmx:wsOpen", resend);
  document.addEventListener("legible:draft", ({ detail }) => addDraft(detail));
  document.addEventListener("htmx:wsAfterMessage", handleReply);
  updateComposer();
}

// Stop

const streamingId = () => document.querySelector("[data-status=streaming]")?.dataset.messageId ?? "";

const sendStop = () => document.dispatchEvent(new CustomEvent("legible:send", { detail: { action: "stop" } }));

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-stop]") || socketState === "none") return;
  event.preventDefault();
  if (socketState === "open") return sendStop();
  stopWhenConnected = streamingId();
  banner.textContent = banner.dataset.willStop;
});

document.addEventListener("legible:connected", () => {
  socketState = "open";
  if (stopWhenConnected && stopWhenConnected === streamingId()) sendStop();
  stopWhenConnected = "";
  banner.textContent = banner.dataset.away;
});

document.addEventListener("htmx:wsClose", () => {
  socketState = "closed";
});

document.addEventListener("keydown", ({ key, shiftKey }) => {
  if (key !== "Escape" || shiftKey || document.querySelector(":popover-open, dialog[open]")) return;
  if (composer?.hasAttribute("data-running")) composer.querySelector("[data-stop]").click();
});
