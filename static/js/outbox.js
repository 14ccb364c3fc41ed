// Messages that were sent and that the server has not accepted yet. Each is drawn below the conversation, stored, and sent
// again whenever the page connects: the server ignores an id that it knows. A refused one returns to the composer.

const chat = document.getElementById("chat");
const composer = chat.querySelector("[data-composer]");
const textarea = composer.elements.text;
const attached = document.getElementById("attached");
const list = document.getElementById("unsent");
const template = document.getElementById("unsent-message");

const PREFIX = `legible:unsent:${chat.dataset.user}:${location.pathname}:`;
const EXPIRED = "legible:expired"; // the session ended while this tab was open

const messages = new Map(); // client id -> { id, text, attachments, at, names, chips, bubble, isStored }
let returned = { id: "", text: "" }; // to the composer; sent again unchanged, it is the same message

// crypto.randomUUID exists on https and localhost only.
const newId = () =>
  crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join("");

const fire = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

// localStorage, because a tab may be closed before its message is accepted.

const store = ({ id, text, attachments, at, names }) => {
  try {
    localStorage.setItem(PREFIX + id, JSON.stringify({ id, text, attachments, at, names }));
    return true;
  } catch {
    return false; // full: the page holds the message as long as it is open
  }
};

const readStored = () => {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  return keys.map((key) => JSON.parse(localStorage[key])).sort((one, other) => one.at - other.at);
};

addEventListener("beforeunload", (event) => {
  if ([...messages.values()].some(({ isStored }) => !isStored)) event.preventDefault();
});

const draw = ({ id, text, names }) => {
  const bubble = template.content.firstElementChild.cloneNode(true);
  bubble.dataset.unsent = id;
  bubble.querySelector("[data-text]").textContent = text;
  const files = bubble.querySelector("[data-files]");
  files.textContent = names.join(", ");
  files.hidden = !names.length;
  list.append(bubble);
  return bubble;
};

const add = (message) => {
  messages.set(message.id, { ...message, isStored: store(message), bubble: draw(message) });
};

const transmit = ({ id, text, attachments }) => fire("legible:send", { text, id, attachments });

const forget = (id) => {
  const message = messages.get(id);
  messages.delete(id);
  localStorage.removeItem(PREFIX + id);
  return message;
};

// The files of a message leave the composer with it, and come back with its text.

const takeFiles = (isTaken = () => true) => {
  const chips = [...attached.querySelectorAll("[data-attachment]")].filter(isTaken);
  chips.forEach((chip) => chip.remove());
  return chips;
};

const nameOf = (chip) => chip.querySelector(".attachment__text, a")?.textContent.trim() ?? chip.textContent.trim();

const returnToComposer = (id) => {
  const message = messages.get(id);
  if (!message) return;
  returned = message;
  attached.prepend(...message.chips);
  fire("legible:draft", message.text); // stored as the draft from here on
  forget(id).bubble.remove();
};

const isUploading = () => composer.querySelector("[data-uploading]") !== null;

document.addEventListener("htmx:wsConfigSend", (event) => {
  event.preventDefault(); // sent from here, not from the queue of htmx
  event.detail.triggeringEvent?.preventDefault();
  const text = String(event.detail.parameters.text ?? "").trim();
  const isComposer = event.target === composer;
  if (!text || event.detail.errors.length || (isComposer && isUploading())) return;
  const chips = isComposer ? takeFiles() : [];
  if (isComposer) attached.replaceChildren(); // also what is said of refused files
  const id = isComposer && returned.text === text ? returned.id : newId();
  const attachments = chips.map((chip) => chip.dataset.attachment);
  add({ id, text, attachments, at: Date.now(), names: chips.map(nameOf), chips });
  if (isComposer) fire("legible:cleared");
  transmit(messages.get(id));
  fire("legible:sent");
  document.getElementById("expired").hidden = true;
});

document.addEventListener("legible:connected", () => messages.forEach(transmit));

// What becomes of a message. `appears`: it comes as a card or in the queue; until then its bubble stays.

document.addEventListener("legible:accepted", ({ detail: { id, appears } }) => {
  if (id === returned.id && textarea.value.trim() === returned.text) fire("legible:cleared");
  const bubble = forget(id)?.bubble;
  if (appears) bubble?.setAttribute("data-accepted", "");
  else bubble?.remove();
});

const removeAccepted = () => list.querySelectorAll("[data-accepted]").forEach((bubble) => bubble.remove());
const arrivals = new MutationObserver(removeAccepted);
for (const id of ["messages", "queue"]) arrivals.observe(document.getElementById(id), { childList: true });

document.addEventListener("legible:refused", ({ detail }) => returnToComposer(detail));

let lastReply = document.getElementById("composer-error");

document.addEventListener("htmx:wsAfterMessage", () => {
  const reply = document.getElementById("composer-error");
  if (reply === lastReply) return;
  lastReply = reply;
  if (reply.dataset.rejected) returnToComposer(reply.dataset.rejected);
});

addEventListener("storage", ({ key, newValue }) => {
  if (key === null || (key.startsWith(PREFIX) && newValue === null)) {
    for (const id of [...messages.keys()]) if (key === null || key === PREFIX + id) forget(id).bubble.remove();
  }
});

list.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-take-back]");
  if (!button) return;
  returnToComposer(button.closest("[data-unsent]").dataset.unsent);
  textarea.focus();
});

// What an earlier page left. After a sign-in it waits in the composer: its writer may have changed their mind.

for (const message of readStored()) {
  const chips = takeFiles((chip) => message.attachments.includes(chip.dataset.attachment));
  add({ ...message, chips });
}

if (sessionStorage.getItem(EXPIRED) === chat.dataset.user) {
  [...messages.keys()].reverse().forEach(returnToComposer);
  document.getElementById("expired").hidden = !textarea.value;
}
sessionStorage.removeItem(EXPIRED);
