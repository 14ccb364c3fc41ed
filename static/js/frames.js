// JSON frames of the conversation's socket: a handler for each type. chat/socket/frames.py writes them and describes
// their fields. All other frames are HTML, which htmx swaps.

import { drawText, receiveText, stayAtText } from "./live_text.js";

const chat = document.getElementById("chat");
const composer = chat.querySelector("[data-composer]");
const banner = document.getElementById("connection");

const NOTHING_TO_SHOW =
  ".disclosure:has(> .points:empty), .disclosure:has(.steps:empty), .disclosure[data-token-est='0'], .disclosure--line:empty, [id$='-pad']:empty";

const prune = (card) => {
  card.querySelectorAll(NOTHING_TO_SHOW).forEach((shell) => shell.remove());
  card.querySelector(".work:not(:has(.disclosure))")?.remove();
};

const markCard = ({ card: id, status, tokensEst }) => {
  const card = document.getElementById(`m-${id}`);
  const thinking = card?.querySelector("[data-ai-reasoning]");
  if (thinking && tokensEst !== undefined) thinking.dataset.tokenEst = tokensEst;
  if (!card || !status) return;
  const isLive = status === "streaming";
  card.dataset.status = status;
  if (isLive) return card.setAttribute("aria-busy", "true");
  card.removeAttribute("aria-busy");
  prune(card);
  card.dispatchEvent(new CustomEvent("legible:settled", { bubbles: true }));
};

const setRunning = ({ running }) => {
  const stop = composer.querySelector("[data-stop]");
  if (!running && stop === document.activeElement) composer.elements.text.focus(); // else it would be lost
  composer.toggleAttribute("data-running", running);
  if (running) composer.elements.text.placeholder = composer.elements.text.dataset.followUp;
  stop.hidden = !running;
};

const updateTitle = ({ conversation, title, goesUp }) => {
  document.getElementById("title").textContent = title;
  document.title = `${title} · ${chat.dataset.site}`;
  const item = document.getElementById(`c-${conversation}`);
  if (!item) return;
  if (goesUp) return item.remove(); // it comes again, on top
  const [link, more] = item.children;
  more.ariaLabel = more.ariaLabel.replace(link.textContent.trim(), () => title);
  link.title = title;
  link.replaceChildren(title);
};

export const announce = ({ text, assertive }) => {
  document.getElementById(assertive ? "alert-node" : "status-node").textContent = text;
};

export const setSwitch = (button, isOn) => {
  button?.setAttribute("aria-checked", isOn);
  if (button) button.form.elements.on.value = !isOn;
};

// Another tab, or time, switched it; or this person may not use it any more.
const updateSwitch = ({ name, on, possible }) => {
  const button = document.querySelector(`[data-toggle=${name}]`);
  if (possible) setSwitch(button, on);
  else button?.form.remove();
};

const showLiveness = ({ live }) => {
  banner.hidden = live;
  banner.textContent = banner.dataset.notLive;
};

// The pickers of model and effort follow what was chosen by a command or on another page.

const updateEfforts = (efforts) => {
  const picker = document.getElementById("effort-pick");
  const options = efforts.map(({ value, label, chosen }) => new Option(label, value, false, chosen));
  const labels = (list) => [...list].map((option) => option.text).join();
  if (labels(options) !== labels(picker.options)) picker.replaceChildren(...options);
  picker.value = efforts.find(({ chosen }) => chosen)?.value ?? "";
  picker.parentElement.hidden = !efforts.length;
};

const updateModel = ({ model, label, efforts }) => {
  updateEfforts(efforts);
  const picker = document.getElementById("model-pick");
  if (!picker.matches("select")) return picker.firstElementChild.replaceChildren(label); // one model only
  const option = [...picker.options].find(({ value }) => value === model);
  if (option) option.text = label;
  else picker.add(new Option(label, model));
  picker.value = model;
};

const accept = (detail) => document.dispatchEvent(new CustomEvent("legible:accepted", { detail }));

const addDraft = ({ text }) => document.dispatchEvent(new CustomEvent("legible:draft", { detail: text }));

// Drawn by the clock; every other frame belongs behind the text that came before it.
const TEXT_TYPES = ["text", "block", "thinking"];

const HANDLERS = {
  ending: stayAtText,
  card: markCard,
  turn: setRunning,
  switch: updateSwitch,
  model: updateModel,
  title: updateTitle,
  announce,
  accepted: accept,
  draft: addDraft,
  live: showLiveness,
};

// Calls onGap when text before this frame is missing.
export const handleFrame = (frame, onGap) => {
  if (TEXT_TYPES.includes(frame.type)) return receiveText(frame, onGap);
  drawText();
  HANDLERS[frame.type]?.(frame); // a server that was updated may have more types
};
