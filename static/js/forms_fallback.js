// For networks that let no WebSocket through: messages are sent as the form without JavaScript sends them, and the page is
// read again every few seconds. The server recognises a message that it has by its id.

import { forgetText, holdPosition } from "./live_text.js";

const chat = document.getElementById("chat");
const composer = chat.querySelector("[data-composer]");
const messages = document.getElementById("messages");

const RUNNING_MS = 2000;
const IDLE_MS = 15000;

let timer = 0;
let hasFailed = false; // since the page was last read
let hasStopped = false; // the socket has opened after all, perhaps during a request from here

const fire = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

const request = async (url, options) => {
  const response = await fetch(url, options).catch(() => null);
  const isElsewhere = response?.redirected && new URL(response.url).pathname !== location.pathname;
  if (isElsewhere || response?.status === 401) {
    fire("legible:expired"); // to the sign-in
    return null;
  }
  if (response?.status === 403) location.reload(); // another sign-in has changed the token of the form
  return response;
};

const parse = async (response) => new DOMParser().parseFromString(await response.text(), "text/html");

// A card stays while it is the same, with the focus and what is selected or written in it, and while a person edits its
// question or answers a call that still waits.

const keyOf = (card) => card.id || card.dataset.clientId;

const lastRead = new Map(); // key -> HTML of the card as the page was last read: scripts have changed it since

const isUnchanged = (wanted) => {
  const html = wanted.outerHTML.replace(/(?<=name="csrfmiddlewaretoken" value=")\w+/g, ""); // another one in each response
  const isSame = lastRead.get(keyOf(wanted)) === html;
  lastRead.set(keyOf(wanted), html);
  return isSame;
};

const isWrittenIn = (card, wanted) =>
  card.querySelector("[data-edit-form]") !== null ||
  [...card.querySelectorAll("[data-approval]")].some(({ id }) => wanted.querySelector(`#${CSS.escape(id)}`));

const replaceCards = (own, wanted) => {
  const unchanged = new Set([...wanted.children].filter(isUnchanged));
  const stays = new Map(); // by the card that would replace it
  for (const card of own.children) {
    const next = [...wanted.children].find((other) => keyOf(other) && keyOf(other) === keyOf(card));
    if (next && (unchanged.has(next) || isWrittenIn(card, next))) stays.set(next, card);
  }
  const left = new Set(stays.values());
  [...own.childNodes].filter((node) => !left.has(node)).forEach((node) => node.remove());
  let place = own.firstChild; // the next card that stays; it isn't moved, which would take its focus
  for (const node of [...wanted.childNodes]) {
    const card = stays.get(node);
    if (!card) {
      own.insertBefore(node, place);
      continue;
    }
    place = card.nextSibling;
    const [cards, next] = [card, node].map((side) => side.querySelector(".comparison__cards"));
    if (cards && next) replaceCards(cards, next); // one of two answers may wait while the other is written
  }
};

const replacePart = (shown, id) => {
  const [own, wanted] = [document.getElementById(id), shown.getElementById(id)];
  if (!own || !wanted) return;
  replaceCards(own, wanted);
  htmx.process(own);
};

const show = (shown, parts = ["messages", "queue", "title"]) => {
  if (hasStopped) return;
  const restorePosition = holdPosition();
  forgetText();
  parts.forEach((id) => replacePart(shown, id));
  document.title = shown.title;
  restorePosition();
  const isRunning = shown.querySelector("[data-composer]")?.hasAttribute("data-running") ?? false;
  fire("legible:frame", { type: "turn", running: isRunning });
  htmx.trigger(messages, "htmx:afterSwap", { target: messages });
  schedule(isRunning);
};

const schedule = (isRunning) => {
  clearTimeout(timer);
  if (!hasStopped) timer = setTimeout(readPage, isRunning ? RUNNING_MS : IDLE_MS);
};

// Returns whether the server answers.
export const readPage = async () => {
  const response = await request(location.href);
  if (!response?.ok) {
    hasFailed = true;
    if (timer) schedule(false); // else it was a probe
    return false;
  }
  show(await parse(response));
  if (hasFailed && !hasStopped) {
    fire("legible:connected"); // send again what could not be sent
    fire("legible:blocked"); // still by forms
  }
  hasFailed = false;
  return true;
};

export const stopReading = () => {
  hasStopped = true;
  clearTimeout(timer);
};

// Over the socket the card would come again without the form.
document.addEventListener("htmx:afterRequest", ({ target, detail }) => {
  if (hasStopped || detail.xhr.status !== 204 || !target.matches("[data-edit-form]")) return;
  target.remove();
  readPage();
});

export const postStop = async () => {
  const form = document.getElementById("stop");
  await request(form.action, { method: "POST", body: new FormData(form) });
  await readPage();
};

export const postMessage = async ({ id, text, attachments, compare_model }) => {
  const form = new FormData();
  form.append("csrfmiddlewaretoken", composer.elements.csrfmiddlewaretoken.value);
  form.append("text", text);
  form.append("id", id);
  form.append("compare_model", compare_model ?? "");
  attachments.forEach((attachment) => form.append("attachments", attachment));
  const response = await request(composer.action, { method: "POST", body: form });
  if (!response || response.status >= 500 || response.status === 403) {
    hasFailed = true;
    return schedule(true);
  }
  const shown = await parse(response);
  const error = shown.getElementById("composer-error");
  if (response.ok) {
    fire("legible:accepted", { id, appears: response.redirected && !text.startsWith("/") });
    const draft = shown.querySelector("[data-composer] textarea")?.value;
    if (draft) fire("legible:draft", draft); // of a prompt
    return show(shown, ["messages", "queue", "title", "command"]); // it alone has the reply to a command
  }
  if (error) document.getElementById("composer-error").replaceWith(error);
  fire("legible:refused", id);
};
