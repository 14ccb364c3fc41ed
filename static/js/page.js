// The page around the messages: the composer, the seconds that tick, the drawer, Escape.

const composer = document.querySelector("[data-composer]");

// Stop: over the socket, as soon as there is one. Its form would leave for a page that cannot come.

const banner = document.getElementById("connection");

let isConnected = null; // until there was a socket, the form serves
let toStop = "";

const streaming = () => document.querySelector("[data-status=streaming]")?.dataset.messageId ?? "";

const stop = () => document.dispatchEvent(new CustomEvent("legible:send", { detail: { action: "stop" } }));

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-stop]") || isConnected === null) return;
  event.preventDefault();
  if (isConnected) return stop();
  toStop = streaming();
  banner.textContent = banner.dataset.willStop;
});

document.addEventListener("legible:connected", () => {
  isConnected = true;
  if (toStop && toStop === streaming()) stop();
  toStop = "";
  banner.textContent = banner.dataset.away;
});

document.addEventListener("htmx:wsClose", () => {
  isConnected = false;
});

// Drawers close when a place in them is chosen, and when the page is left.

document.addEventListener("click", ({ target }) => {
  if (target.closest("a:not([hx-get])")) target.closest(":popover-open")?.hidePopover();
});

addEventListener("pagehide", () => document.querySelector(":popover-open")?.hidePopover());

// A dialog's content comes with the click that asks for it.

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.matches("dialog:not([open])")) detail.target.showModal();
});

// A question in other words: Escape and Cancel leave it as it was, Enter with Ctrl or Cmd sends it.

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  const text = detail.elt.querySelector("[data-edit-form] textarea:focus");
  text?.setSelectionRange(text.value.length, text.value.length); // one goes on from what was asked
});

const leaveEdit = (form) => {
  const card = form.closest("article");
  form.remove();
  card.querySelector("[data-edit]").focus();
};

document.addEventListener("click", (event) => {
  const cancel = event.target.closest("[data-edit-cancel]");
  if (!cancel) return;
  event.preventDefault();
  leaveEdit(cancel.closest("form"));
});

document.addEventListener("keydown", (event) => {
  const form = event.target.closest("[data-edit-form]");
  if (!form) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  if (event.key !== "Escape") return;
  event.stopPropagation(); // it stops nothing else
  leaveEdit(form);
}, true);

// Another branch: its cards come over the socket, and focus goes on from where it was.

let goesTo = "";

document.addEventListener("click", ({ target }) => {
  const step = target.closest("[data-branch]");
  if (step) goesTo = `#m-${step.dataset.branch}-q-tools`;
});

document.addEventListener("htmx:wsAfterMessage", () => {
  const tools = goesTo && document.querySelector(goesTo);
  if (!tools) return;
  goesTo = "";
  tools.scrollIntoView({ block: "nearest" });
  tools.querySelector("button:enabled").focus();
});

// Escape leaves the search of the list of conversations, and the form of one.

const side = document.getElementById("side");
const find = document.getElementById("find");

side?.addEventListener("keydown", (event) => {
  const isSearch = event.target === find && find.value;
  const cancel = event.target.closest(".manage")?.querySelector("[data-cancel]");
  if (event.key !== "Escape" || !(isSearch || cancel)) return;
  event.preventDefault();
  event.stopPropagation();
  if (cancel) return cancel.click();
  find.value = "";
  find.dispatchEvent(new Event("input", { bubbles: true }));
});

// A card that was seen growing keeps its height, and the answer its room: what is opened grows down.

document.addEventListener("legible:settled", ({ target }) => target.toggleAttribute("data-held", true));

document.addEventListener("click", ({ target }) => {
  const card = target.closest(".fold__bar")?.closest("[data-status=streaming], [data-held]");
  const now = card && `#${card.id}:is([data-status=streaming], [data-held]:last-child) > .prose`;
  if (card) filled.replaceSync(`${now} { min-height: ${card.querySelector(".prose").offsetHeight}px }`);
}, true);

// Seconds of what is being worked on. The first sight of one fixes when it began.

const began = new WeakMap();

const tick = (figure) => {
  const now = performance.now();
  if (!began.has(figure)) began.set(figure, now - 1000 * figure.dataset.elapsed);
  figure.textContent = figure.textContent.replace(/\d+/, Math.floor((now - began.get(figure)) / 1000));
};

if (composer) setInterval(() => document.querySelectorAll("[data-live] [data-elapsed]").forEach(tick), 1000);

// The window's name and icon say that an answer is being written and, to who looks elsewhere, how it ended.

const ENDED = { complete: "done", error: "failed", interrupted: "failed" };
const words = document.querySelector("title").dataset;
const icon = document.querySelector("link[rel=icon]");
const iconAtRest = icon?.href;

let state = "";
let nameAtRest = document.title;
let name = nameAtRest;

const entitle = () => {
  if (document.title !== name) nameAtRest = document.title; // the conversation got another one
  name = state ? `${words[state]} · ${nameAtRest}` : nameAtRest;
  if (document.title !== name) document.title = name;
};

const setState = (next) => {
  if (next === state) return;
  state = next;
  icon.href = icon.dataset[state] ?? iconAtRest;
  entitle();
};

const lookAtWork = () => {
  if (composer.hasAttribute("data-running")) return setState("working");
  const last = [...document.querySelectorAll("#messages > [data-role=assistant]")].at(-1);
  if (state === "working") setState(document.hidden ? ENDED[last?.dataset.status] ?? "" : "");
};

if (composer) {
  new MutationObserver(lookAtWork).observe(composer, { attributeFilter: ["data-running"] });
  new MutationObserver(entitle).observe(document.head, { childList: true, subtree: true, characterData: true });
  document.addEventListener("visibilitychange", () => document.hidden || state === "working" || setState(""));
  lookAtWork();
}

// The composer. What was sent is kept until the server took it, and given back if refused.

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
  const isEnter = event.key === "Enter" && !event.isComposing && event.keyCode !== 229;
  if (!isEnter || event.shiftKey !== area.hasAttribute("data-enter-breaks")) return;
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

// A model that is not offered any more: the answer says which are.

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target.id !== "model" || detail.xhr.status !== 400) return;
  detail.shouldSwap = true;
  detail.isError = false;
});

document.addEventListener("keydown", ({ key, shiftKey }) => {
  if (key !== "Escape" || shiftKey || document.querySelector(":popover-open, dialog[open]")) return;
  if (composer?.hasAttribute("data-running")) composer.querySelector("[data-stop]").click();
});

// What the reader looks at stays where it is while the messages are drawn again.

// htmx would copy a style attribute, which the content policy refuses
const [heights, filled] = [new CSSStyleSheet(), new CSSStyleSheet()];
document.adoptedStyleSheets.push(heights, filled);

const contentHeight = (card, style = getComputedStyle(card)) =>
  card.offsetHeight - Number.parseFloat(style.paddingTop) - Number.parseFloat(style.paddingBottom);

export const holdPlace = () => {
  const cards = [...document.getElementById("messages").children];
  const rules = cards.map((one) => `#${one.id} { contain-intrinsic-height: auto ${contentHeight(one)}px }`);
  heights.replaceSync(rules.join("\n")); // for those out of sight
  const card = cards.find((one) => one.getBoundingClientRect().bottom > 0);
  const top = card?.getBoundingClientRect().top;
  return () => {
    const drawnAgain = card && document.getElementById(card.id);
    if (drawnAgain) scrollBy(0, drawnAgain.getBoundingClientRect().top - top);
  };
};

// Earlier messages came: the same, and the keyboard stays near where it was.

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { target } = detail;
  if (target.id !== "earlier") return;
  const card = target.nextElementSibling;
  const top = card.getBoundingClientRect().top;
  const hadFocus = target.contains(document.activeElement);
  card.tabIndex = -1;
  document.addEventListener("htmx:afterSettle", () => {
    scrollBy({ top: card.getBoundingClientRect().top - top, behavior: "instant" });
    if (hadFocus) (document.querySelector("#earlier a") ?? card).focus({ preventScroll: true });
  }, { once: true });
});
