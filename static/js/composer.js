// The composer: sending, Enter, the length limit, files, drafts, the Stop button and Escape; and the forms that edit a question in
// place. A sent message is kept until the server has accepted it.
// The settings and the sign-in load it too: who has signed out leaves no drafts.

const composer = document.querySelector("[data-composer]");
const textarea = composer?.elements.text;
const sendButton = composer?.querySelector("[data-send]");
const banner = document.getElementById("connection");

let socketState = "none"; // none: no socket yet, so the form is posted; open; closed; blocked
let stopWhenConnected = ""; // id of the turn to stop

// The server counts code points; the spread is needed only for texts with surrogate pairs near the limit.
const isTooLong = (text, limit) => text.length > limit && [...text].length > limit;

const fitHeight = () => {
  if (CSS.supports("field-sizing", "content")) return;
  textarea.style.height = "auto";
  textarea.style.height = `${textarea.scrollHeight}px`;
};

const attached = document.getElementById("attached");
const isUploading = () => composer.querySelector("[data-uploading]") !== null;

const updateComposer = () => {
  // A tap must not open the keyboard of a phone.
  const hadFocus = sendButton.matches(matchMedia("(hover: none)").matches ? ":focus-visible" : ":focus");
  sendButton.disabled = !textarea.value.trim() || isUploading();
  if (hadFocus && sendButton.disabled) textarea.focus();
  const { limit, tooLong } = textarea.dataset;
  textarea.setCustomValidity(isTooLong(textarea.value, Number(limit)) ? tooLong : "");
  const error = document.getElementById("composer-error");
  if (!textarea.validity.customError && error.textContent === tooLong) error.hidden = true;
  fitHeight();
};

// As the server says it, instead of the bubble of the browser, which is gone after some seconds.
const showTooLong = (event) => {
  if (!textarea.validity.customError) return;
  event.preventDefault();
  const error = document.getElementById("composer-error");
  error.textContent = textarea.validationMessage;
  error.hidden = false;
  textarea.focus();
};

const setText = (text) => {
  textarea.value = text;
  updateComposer();
};

// Keeps what was typed since.
const addDraft = (text) => setText(textarea.value ? `${text}\n${textarea.value}` : text);

// An input method reads these keys itself: Enter and the arrows choose from its list, Escape closes it. keyCode 229: Safari
// ends a composition with a key that says it is not composing. In the capture phase, so that no other script acts on them.
addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) event.stopImmediatePropagation();
}, true);

const sendOnEnter = (event) => {
  if (event.key !== "Enter" || event.shiftKey !== textarea.hasAttribute("data-enter-breaks")) return;
  event.preventDefault();
  if (textarea.value.trim()) composer.requestSubmit();
};

if (composer) {
  textarea.addEventListener("input", updateComposer);
  textarea.addEventListener("invalid", showTooLong);
  composer.addEventListener("legible:attached", updateComposer);
  textarea.addEventListener("keydown", sendOnEnter);
  document.addEventListener("legible:draft", ({ detail }) => addDraft(detail));
  document.addEventListener("legible:cleared", () => setText(""));
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
  // Copied cells come with a picture of them. The Finder of macOS adds the name of a file, as plain text alone.
  const isText = types.includes("text/plain") && ["text/html", "text/rtf"].some((type) => types.includes(type));
  if (!files.length || isText) return;
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
  acceptDrops(document.documentElement); // beside the chat, too: the browser would leave the page and open the file
}

// What has the focus is scrolled clear of the bar, however much is in it, and of the button above it.
const JUMP_PX = 64;
const bar = document.querySelector(".composer-bar");

const clearBar = () => {
  document.documentElement.style.scrollPaddingBottom = `${bar.offsetHeight + JUMP_PX}px`;
};

if (bar) new ResizeObserver(clearBar).observe(bar);

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
// writer signs out, or somebody else signs in. Messages that were not accepted yet are forgotten with them.

const PREFIXES = ["legible:draft:", "legible:unsent:"];
const SIGNED_OUT = "legible:signed-out"; // tells the other tabs, which remember it until somebody signs in
const EXPIRED = "legible:expired"; // the session of this tab's page ended; its user's id

const user = document.getElementById("chat")?.dataset.user;
const draftKey = `legible:draft:${user}:${location.pathname}`; // of this conversation

let storedDraft = "";

const saveDraft = () => {
  if (textarea.value === storedDraft) return;
  try {
    if (textarea.value) sessionStorage.setItem(draftKey, textarea.value);
    else sessionStorage.removeItem(draftKey);
    storedDraft = textarea.value;
  } catch {
    // full: the composer still has it
  }
};

const forgetDrafts = (isForgotten = () => true) => {
  for (const storage of [sessionStorage, localStorage]) {
    const names = Object.keys(storage).filter((name) => PREFIXES.some((prefix) => name.startsWith(prefix)));
    names.filter(isForgotten).forEach((name) => storage.removeItem(name));
  }
};

if (document.querySelector("[data-signed-out]")) forgetDrafts();

const expiredNotice = document.querySelector("[data-expired]");
if (expiredNotice && sessionStorage.getItem(EXPIRED) && !sessionStorage.getItem(SIGNED_OUT)) expiredNotice.hidden = false;

// A text that was posted without a socket is still the draft until the page shows it.
const isShown = (text) =>
  [...document.querySelectorAll("#messages .question, #queue .queued__text")].some((shown) => shown.textContent.trim() === text.trim());

if (composer) {
  forgetDrafts((name) => !PREFIXES.some((prefix) => name.startsWith(`${prefix}${user}:`)));
  storedDraft = sessionStorage.getItem(draftKey) ?? "";
  const isPosted = sessionStorage.getItem("legible:posted") === draftKey && isShown(storedDraft);
  setText(textarea.value || (isPosted ? "" : storedDraft)); // unless the server put a refused text back
  sessionStorage.removeItem("legible:posted");
  sessionStorage.removeItem(SIGNED_OUT);
  saveDraft();
  // before it leaves the store of sent messages, or just after it came there
  ["input", "legible:draft", "legible:cleared", "htmx:wsAfterMessage"].forEach((name) => document.addEventListener(name, saveDraft));
}

document.addEventListener("submit", ({ target, defaultPrevented }) => {
  if (target.matches("[data-composer]") && !defaultPrevented) sessionStorage.setItem("legible:posted", draftKey);
  if (!target.getAttribute("action")?.endsWith("/logout/")) return;
  forgetDrafts();
  localStorage.setItem(SIGNED_OUT, Date.now());
});

addEventListener("storage", (event) => {
  if (event.key !== SIGNED_OUT) return;
  forgetDrafts();
  sessionStorage.setItem(SIGNED_OUT, event.newValue); // nothing that was written is kept
});

// Messages that were sent and that the server has not accepted yet. Each is drawn below the conversation, stored, and sent
// again whenever the page connects: the server ignores an id that it knows. A refused one returns to the composer.

const list = document.getElementById("unsent");
const template = document.getElementById("unsent-message");
const unsentPrefix = `legible:unsent:${user}:${location.pathname}:`;

const compare = composer?.elements.compare_model; // with which model the next question is asked, too

const messages = new Map(); // client id -> { id, text, attachments, compare_model, at, names, chips, bubble, isStored }
const nothingReturned = { id: "", text: "" };
let returned = nothingReturned; // to the composer; sent again unchanged, it is the same message

// crypto.randomUUID exists on https and localhost only.
const newId = () =>
  crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join("");

const fire = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

// localStorage, because a tab may be closed before its message is accepted.

const store = ({ id, text, attachments, compare_model, at, names }) => {
  try {
    localStorage.setItem(unsentPrefix + id, JSON.stringify({ id, text, attachments, compare_model, at, names }));
    return true;
  } catch {
    return false; // full: the page holds the message as long as it is open
  }
};

const readStored = () => {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(unsentPrefix));
  return keys.map((key) => JSON.parse(localStorage[key])).sort((one, other) => one.at - other.at);
};

const warnBeforeLoss = (event) => {
  if (isUploading() || [...messages.values()].some(({ isStored }) => !isStored)) event.preventDefault();
};

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

const transmit = ({ id, text, attachments, compare_model }) => fire("legible:send", { text, id, attachments, compare_model });

const forget = (id) => {
  const message = messages.get(id);
  messages.delete(id);
  localStorage.removeItem(unsentPrefix + id);
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
  if (message.compare_model) compare.value = message.compare_model;
  fire("legible:draft", message.text); // stored as the draft from here on
  forget(id).bubble.remove();
};

const sendMessage = (event) => {
  event.preventDefault(); // sent from here, not from the queue of htmx
  event.detail.triggeringEvent?.preventDefault();
  const text = String(event.detail.parameters.text ?? "")
    .replace(/^(?:[^\S\n]*\n)+/, "") // not the indent of the first line
    .trimEnd();
  const isComposer = event.target === composer;
  if (!text || event.detail.errors.length || (isComposer && isUploading())) return;
  const chips = isComposer ? takeFiles() : [];
  if (isComposer) attached.replaceChildren(); // also what is said of refused files
  const isSame = returned.text === text && (returned.compare_model ?? "") === compare.value;
  const id = isComposer && isSame ? returned.id : newId();
  const attachments = chips.map((chip) => chip.dataset.attachment);
  const compare_model = isComposer ? compare.value : "";
  if (isComposer) compare.value = ""; // it is for one question
  add({ id, text, attachments, compare_model, at: Date.now(), names: chips.map(nameOf), chips });
  if (isComposer) fire("legible:cleared");
  transmit(messages.get(id));
  fire("legible:sent");
  document.getElementById("expired").hidden = true;
};

// What becomes of a message. `appears`: it comes as a card or in the queue; until then its bubble stays.

const accept = ({ detail: { id, appears } }) => {
  if (id === returned.id) {
    if (textarea.value.trim() === returned.text.trim()) fire("legible:cleared");
    returned = nothingReturned; // the same text is a new question from here on
  }
  const bubble = forget(id)?.bubble;
  if (appears) bubble?.setAttribute("data-accepted", "");
  else bubble?.remove();
};

const removeAccepted = () => list.querySelectorAll("[data-accepted]").forEach((bubble) => bubble.remove());

let lastReply = document.getElementById("composer-error");

const handleReply = () => {
  const reply = document.getElementById("composer-error");
  if (reply === lastReply) return;
  lastReply = reply;
  if (reply.dataset.rejected) returnToComposer(reply.dataset.rejected);
};

const forgetInOtherTab = ({ key, newValue }) => {
  if (key === null || (key.startsWith(unsentPrefix) && newValue === null)) {
    for (const id of [...messages.keys()]) if (key === null || key === unsentPrefix + id) forget(id).bubble.remove();
  }
};

const takeBack = ({ target }) => {
  const button = target.closest("[data-take-back]");
  if (!button) return;
  returnToComposer(button.closest("[data-unsent]").dataset.unsent);
  textarea.focus();
};

// What an earlier page left. After a sign-in it waits in the composer: its writer may have changed their mind.

const restoreMessages = () => {
  for (const message of readStored()) {
    const chips = takeFiles((chip) => message.attachments.includes(chip.dataset.attachment));
    add({ ...message, chips });
  }
  if (sessionStorage.getItem(EXPIRED) === user) {
    [...messages.keys()].reverse().forEach(returnToComposer);
    document.getElementById("expired").hidden = !textarea.value;
  }
  sessionStorage.removeItem(EXPIRED);
};

if (composer) {
  addEventListener("beforeunload", warnBeforeLoss);
  addEventListener("storage", forgetInOtherTab);
  document.addEventListener("htmx:wsConfigSend", sendMessage);
  document.addEventListener("htmx:wsAfterMessage", handleReply);
  document.addEventListener("legible:connected", () => messages.forEach(transmit));
  document.addEventListener("legible:accepted", accept);
  document.addEventListener("legible:refused", ({ detail }) => returnToComposer(detail));
  list.addEventListener("click", takeBack);
  const arrivals = new MutationObserver(removeAccepted);
  for (const id of ["messages", "queue"]) arrivals.observe(document.getElementById(id), { childList: true });
  restoreMessages();
}

// Stop

const streamingId = () => document.querySelector("[data-status=streaming]")?.dataset.messageId ?? "";

const sendStop = () => document.dispatchEvent(new CustomEvent("legible:send", { detail: { action: "stop" } }));

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-stop]") || socketState === "none") return;
  event.preventDefault();
  if (socketState !== "closed") return sendStop();
  stopWhenConnected = streamingId();
  banner.textContent = banner.dataset.willStop;
});

document.addEventListener("legible:connected", () => {
  socketState = "open";
  if (stopWhenConnected && stopWhenConnected === streamingId()) sendStop();
  stopWhenConnected = "";
});

document.addEventListener("legible:blocked", () => {
  socketState = "blocked"; // messages go by forms
});

document.addEventListener("htmx:wsClose", () => {
  if (socketState !== "blocked") socketState = "closed";
});

document.addEventListener("keydown", ({ key, shiftKey }) => {
  if (key !== "Escape" || shiftKey || document.querySelector(":popover-open, dialog[open]")) return;
  if (composer?.hasAttribute("data-running")) composer.querySelector("[data-stop]").click();
});

// Editing a question or a queued message in place, and stepping between its versions (branches).

// What is typed there is a draft too, by the address of the form; after a reload its form is opened again. Where the message
// can't be edited any more, it goes to the composer.
const editKey = (form) => `${draftKey}#${form.getAttribute("action")}`;

const storeEdit = ({ form, value }) => {
  try {
    sessionStorage.setItem(editKey(form), value);
  } catch {
    // full: the form still has it
  }
};

const forgetEdit = (form) => sessionStorage.removeItem(editKey(form));

document.addEventListener("DOMContentLoaded", () => {
  for (const [key, typed] of Object.entries(sessionStorage)) {
    const [page, url] = key.split("#");
    if (!url || page !== draftKey) continue;
    const link = document.querySelector(`[data-edit][href="${CSS.escape(url)}"]`);
    if (link) {
      link.click();
      continue;
    }
    if (!isShown(typed)) fire("legible:draft", typed);
    sessionStorage.removeItem(key);
  }
});

// At once: what is typed before htmx moves the focus would be lost.
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const textarea = detail.elt.querySelector("[data-edit-form] textarea[autofocus]");
  if (!textarea) return;
  textarea.removeAttribute("autofocus"); // later swaps around the form leave it as it is
  const typed = sessionStorage.getItem(editKey(textarea.form));
  if (typed !== null) {
    textarea.value = typed;
    unsentEdit = textarea;
  }
  textarea.focus();
  textarea.setSelectionRange(textarea.value.length, textarea.value.length);
});

let unsentEdit = null;

const cancelEdit = (form) => {
  unsentEdit = null;
  forgetEdit(form);
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

// A message that is sent, or asked again, while it is edited takes its form with it: what was typed goes to the composer.

document.addEventListener("input", ({ target }) => {
  if (!target.matches("[data-edit-form] textarea")) return;
  unsentEdit = target;
  storeEdit(target);
});

document.addEventListener("htmx:wsAfterMessage", () => {
  if (!unsentEdit || unsentEdit.isConnected) return;
  const isSubmitted = unsentEdit.form === submittedForm;
  if (!isSubmitted) document.dispatchEvent(new CustomEvent("legible:draft", { detail: unsentEdit.value }));
  forgetEdit(unsentEdit.form);
  unsentEdit = null;
});

// The composer gets the focus of a form or button that goes.

let submittedForm = null;
let pressed = null;

document.addEventListener("click", ({ target }) => {
  const button = target.closest(":is(#messages, #queue) button");
  pressed = document.activeElement.matches(":focus-visible") ? button : null;
});

document.addEventListener("submit", ({ target }) => {
  if (!target.matches("[data-edit-form]")) return;
  submittedForm = target;
  if (!target.closest(".queued")) document.dispatchEvent(new CustomEvent("legible:asked-again"));
});

// Not accepted: what is in the form is unsent again.
document.addEventListener("htmx:afterRequest", ({ target, detail }) => {
  if (target === submittedForm && !detail.successful) submittedForm = null;
});

document.addEventListener("htmx:wsAfterMessage", () => {
  const isGone = (one) => one?.checkVisibility({ visibilityProperty: true }) === false;
  if (isGone(submittedForm)) submittedForm = null;
  else if (isGone(pressed)) pressed = null;
  else return;
  if ([document.body, null].includes(document.activeElement)) textarea.focus({ preventScroll: true });
});

// Another version: its cards come over the socket; focus its version buttons.

let pendingTools = "";

document.addEventListener("click", ({ target }) => {
  const step = target.closest("[data-branch]");
  if (step) pendingTools = `#${step.dataset.branch}`;
});

document.addEventListener("htmx:wsAfterMessage", () => {
  const tools = pendingTools && document.querySelector(`${pendingTools}:has(.branch)`); // not before they came
  if (!tools) return;
  pendingTools = "";
  tools.scrollIntoView({ block: "nearest" });
  tools.querySelector(".branch button:enabled")?.focus();
});
