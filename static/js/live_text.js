// The text of a running answer: its open block and its thinking, drawn by the clock.

import { followNewText } from "./scroll.js";

const DRAW_MS = 60; // at most 20 changes a second, with blocks and seconds
const PART_CHARS = 4000; // a long text grows in parts: not all is laid out again
const EDGE_PX = 24; // closer to the end of a panel counts as being there

// The block of an answer that still grows: its HTML up to the tip, where text is added, and the end tags behind it.

let open = { element: null, html: "", end: "" }; // up to the tip and behind it, as the server knows it

const escape = (text) => text.replace(/[&<>]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[char]);

const parse = (html) => new DOMParser().parseFromString(html, "text/html").body;

// Make one element's children those of another; what both have is left alone, with what a reader selected in it.
const updateChildren = (element, wanted) => {
  const nodes = [...wanted.childNodes];
  nodes.forEach((node, index) => {
    const own = element.childNodes[index];
    if (!own) element.append(node);
    else if (own.isEqualNode(node)) return;
    else if (own.nodeName !== node.nodeName) own.replaceWith(node);
    else if (own.nodeType === Node.TEXT_NODE) updateText(own, node.data);
    else updateElement(own, node);
  });
  while (element.childNodes.length > nodes.length) element.lastChild.remove();
};

const updateText = (own, text) => {
  if (text.startsWith(own.data)) own.appendData(text.slice(own.data.length));
  else own.data = text;
};

const updateElement = (own, wanted) => {
  for (const { name } of [...own.attributes]) if (!wanted.hasAttribute(name)) own.removeAttribute(name);
  for (const { name, value } of wanted.attributes) own.setAttribute(name, value);
  updateChildren(own, wanted);
};

const remember = (element) => {
  if (open.element !== element) open = { element, html: "", end: "" };
};

// Each change: text that came before it, how much of the HTML stays, what follows, how much of both is finished, and
// the end tags where they are others.
const redrawBlock = (element, changes) => {
  remember(element);
  let finished = "";
  for (const { text, same = 0, html: added, finished: chars = 0, end = open.end } of changes) {
    const html = (open.html + escape(text)).slice(0, same) + added;
    finished += html.slice(0, chars);
    open.html = html.slice(chars);
    open.end = end;
  }
  updateChildren(element, parse(`${finished}${open.html}<span class="tip"></span>${open.end}`));
  for (const _node of parse(finished).childNodes) element.before(element.firstChild);
};

const insertAtTip = (element, text) => {
  remember(element);
  open.html += escape(text);
  const tip = element.querySelector(".tip");
  if (tip?.previousSibling?.nodeType === Node.TEXT_NODE) tip.previousSibling.appendData(text);
  else tip?.before(text);
};

// Thinking: text that only grows.

const write = (element, text) => {
  const last = element.lastChild;
  if (last?.nodeType === Node.TEXT_NODE) last.appendData(text);
  else element.append(text);
};

const startPart = (element, text) => {
  const part = document.createElement("div");
  part.append(text);
  element.append(part);
};

const writeLong = (element, text) => {
  const part = element.lastElementChild ?? element;
  const cut = part.textContent.length > PART_CHARS ? text.indexOf("\n") + 1 : 0;
  write(part, cut ? text.slice(0, cut) : text);
  if (cut) startPart(element, text.slice(cut));
};

const drawThinking = (element, { text, isWhole }) => {
  const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < EDGE_PX;
  if (isWhole) element.replaceChildren();
  if (isWhole) startPart(element, text);
  else writeLong(element, text);
  if (isAtEnd || isWhole) element.scrollTop = element.scrollHeight;
  element.toggleAttribute("data-faded", element.scrollTop > 0);
};

// What came since the last drawing

const waiting = new Map(); // element id -> { n, text, isWhole }, of an open block also what changed before the text
let openId = ""; // of the open block: named with the whole of it, not with its changes
let drawnAt = 0;
let timer = 0;

const drawPiece = (id, piece) => {
  const element = document.getElementById(id);
  if (!element) return;
  element.dataset.n = piece.n;
  if (element.matches(".thinking-text")) return drawThinking(element, piece);
  if (piece.changes.length) redrawBlock(element, piece.changes);
  if (piece.text) insertAtTip(element, piece.text);
};

export const drawText = () => {
  clearTimeout(timer);
  timer = 0;
  if (!waiting.size) return;
  drawnAt = performance.now();
  waiting.forEach((piece, id) => drawPiece(id, piece));
  waiting.clear();
  followNewText();
};

export const forgetText = () => waiting.clear();

// Calls onGap when pieces before this one are missing.
export const receiveText = ({ id = openId, n, text, ...change }, onGap) => {
  if ("html" in change) openId = id;
  const element = document.getElementById(id);
  if (!element) return;
  const before = waiting.get(id) ?? { n: Number(element.dataset.n), text: "", isWhole: false, changes: [] };
  const isNext = n === before.n + 1;
  if ("html" in change && (isNext || n === 0 || !change.same))
    waiting.set(id, { n, text: "", changes: [...before.changes, { text: before.text, ...change }] });
  else if (n === 0) waiting.set(id, { n, text, isWhole: true });
  else if (isNext) waiting.set(id, { ...before, n, text: before.text + text });
  else if (n > before.n) onGap();
  timer ||= setTimeout(drawText, Math.max(0, drawnAt + DRAW_MS - performance.now()));
};
