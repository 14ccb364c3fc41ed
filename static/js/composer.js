// The composer: sending over the socket, Enter, the length limit, files, drafts, the Stop button and Escape; and the forms
// that edit a question in place.
// A sent text is remembered until the server has accepted it, and put back if it is refused.
// The settings and the sign-in load it too: who has signed out leaves no drafts.

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
  attached.replaceChildren(); // also what is said of refused files
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
}

// Files for the next message: picked, dropped or pasted.

const attach = async (files) => {
  const script = await import("./attachments.js").catch(() => null);
  if (script) return [...files].forEach(script.upload);
  const item = document.createElement("li"); // offline; it leaves with the next message
  const words = document.createElement("span");
  item.className = "attachment";
  item.dataset.tone = "danger";
  words.role = "alert";
  words.textContent = `${files[0].name}: ${composer.elements.files.dataset.failed}`;
  item.append(words);
  attached.append(item);
};

const attachPicked = async ({ target }) => {
  await attach(target.files);
  target.value = ""; // else the form would send them again
  textarea.focus();
};

const attachPasted = (event) => {
  const { files, types } = event.clipboardData;
  if (!files.length || types.includes("text/plain")) return; // a picture of copied cells is not what was copied
  event.preventDefault();
  attach([...files]); // later the event has none
};

const acceptDrops = (page) => {
  const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files");

  page.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    composer.toggleAttribute("data-drop", true);
  });

  page.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!page.contains(relatedTarget)) composer.removeAttribute("data-drop");
  });

  page.addEventListener("drop", (event) => {
    composer.removeAttribute("data-drop");
    if (!hasFiles(event)) return;
    event.preventDefault();
    attach([...event.dataTransfer.files]);
  });
};

if (composer?.elements.files) {
  composer.elements.files.addEventListener("change", attachPicked);
  textarea.addEventListener("paste", attachPasted);
  attached.addEventListener("htmx:beforeSwap", () => textarea.focus()); // else it is lost with its button
  acceptDrops(document.getElementById("chat"));
}

// Commands: completed once a text begins as one. The reply to a command can be dismissed.

textarea?.addEventListener("input", () => {
  if (textarea.value.startsWith("/")) import("./command_completion.js");
});

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-dismiss]");
  if (!button) return;
  button.closest(".notice").remove();
  textarea.focus();
});

// Drafts: what is typed and not sent yet outlives a reload of this tab and the end of its session, until it is sent, its
// writer signs out, or somebody else signs in.

const PREFIX = "legible:draft:";
const SIGNED_OUT = "legible:signed-out"; // tells the other tabs

const ownPrefix = `${PREFIX}${document.getElementById("chat")?.dataset.user}:`;
const draftKey = `${ownPrefix}${location.pathname}`; // of this conversation

let storedDraft = "";

const saveDraft = () => {
  if (textarea.value === storedDraft) return;
  storedDraft = textarea.value;
  if (storedDraft) sessionStorage.setItem(draftKey, storedDraft);
  else sessionStorage.removeItem(draftKey);
};

const forgetDrafts = (isForgotten = () => true) => {
  const names = Object.keys(sessionStorage).filter((name) => name.startsWith(PREFIX) && isForgotten(name));
  names.forEach((name) => sessionStorage.removeItem(name));
};

if (document.querySelector("[data-signed-out]")) forgetDrafts();

if (composer) {
  forgetDrafts((name) => !name.startsWith(ownPrefix));
  storedDraft = sessionStorage.getItem(draftKey) ?? "";
  setText(textarea.value || storedDraft); // unless the server put a refused text back
  // it is emptied when a text is sent, and comes back if that is refused
  ["input", "htmx:wsAfterSend", "htmx:wsAfterMessage"].forEach((name) => document.addEventListener(name, saveDraft));
}

document.addEventListener("submit", ({ target, defaultPrevented }) => {
  if (target.matches("[data-composer]") && !defaultPrevented) sessionStorage.removeItem(draftKey); // posted, without a socket
  if (!target.getAttribute("action")?.endsWith("/logout/")) return;
  forgetDrafts();
  localStorage.setItem(SIGNED_OUT, Date.now());
});

addEventListener("storage", (event) => {
  if (event.key === SIGNED_OUT) forgetDrafts();
});

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

// Editing a question or a queued message in place, and stepping between its versions (branches).

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  const textarea = detail.elt.querySelector("[data-edit-form] textarea:focus");
  textarea?.setSelectionRange(textarea.value.length, textarea.value.length);
});

const cancelEdit = (form) => {
  const card = form.closest("article");
  form.remove();
  card.querySelector("[data-edit]").focus();
};

document.addEventListener("click", (event) => {
  const cancel = event.target.closest("[data-edit-cancel]");
  if (!cancel) return;
  event.preventDefault();
  cancelEdit(cancel.closest("form"));
});

document.addEventListener("keydown", (event) => {
  const form = event.target.closest("[data-edit-form]");
  if (!form) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  if (event.key !== "Escape") return;
  event.stopPropagation(); // Escape must not stop a running answer as well
  cancelEdit(form);
}, true);

// A message that is sent while it is edited takes its form with it: what was typed goes to the composer.

let queuedEdit = null;

document.addEventListener("input", ({ target }) => {
  if (target.matches(".queued [data-edit-form] textarea")) queuedEdit = target;
});

document.addEventListener("htmx:wsAfterMessage", () => {
  if (!queuedEdit || queuedEdit.isConnected) return;
  const isSubmitted = queuedEdit.form === submittedForm;
  if (!isSubmitted) document.dispatchEvent(new CustomEvent("legible:draft", { detail: queuedEdit.value }));
  queuedEdit = null;
});

// A submitted form disappears with its card; move the focus that it had to the composer.

let submittedForm = null;

document.addEventListener("submit", ({ target }) => {
  if (target.matches("[data-edit-form]")) submittedForm = target;
});

document.addEventListener("htmx:wsAfterMessage", () => {
  if (!submittedForm || submittedForm.isConnected) return;
  submittedForm = null;
  if (document.activeElement === document.body) document.getElementById("text").focus({ preventScroll: true });
});

// Another version: its cards come over the socket; focus the version buttons of the new question.

let pendingTools = "";

document.addEventListener("click", ({ target }) => {
  const step = target.closest("[data-branch]");
  if (step) pendingTools = `#m-${step.dataset.branch}-q-tools`;
});

document.addEventListener("htmx:wsAfterMessage", () => {
  const tools = pendingTools && document.querySelector(pendingTools);
  if (!tools) return;
  pendingTools = "";
  tools.scrollIntoView({ block: "nearest" });
  tools.querySelector("button:enabled").focus();
});
