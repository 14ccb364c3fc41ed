// Scrolling and the text of a running answer. The page follows the newest text while its reader is at the end, and keeps
// what they read in place otherwise. The open block and the thinking are drawn by the clock.

const chat = document.getElementById("chat");
const jumpButton = document.getElementById("jump");
const page = document.scrollingElement;
const queue = document.getElementById("queue");
const messages = document.getElementById("messages");

const EDGE_PX = 48; // closer to the end than this counts as being at the end
const LAST_LINES_PX = 96; // of an answer that stay in view when what is below them comes into view
const TOGGLE_SETTLE_MS = 200;

let isFollowing = false;
let hasLeft = false; // the reader scrolled away from the end
let isEnding = false; // the end of an answer is being drawn
let wasFollowing = false; // when it began to be drawn
let lastTop = page.scrollTop;

const endPosition = () => page.scrollHeight - page.clientHeight;
const distanceToEnd = () => endPosition() - page.scrollTop;

const updateJumpButton = () => {
  if (distanceToEnd() <= EDGE_PX) hasLeft = false;
  jumpButton.hidden = !hasLeft || !messages.childElementCount;
  if (jumpButton.hidden) delete jumpButton.dataset.new;
};

const setFollowing = (following) => {
  isFollowing = following;
  if (following && messages.childElementCount) {
    page.scrollTop = endPosition();
    lastTop = page.scrollTop; // its scroll event may come after the reader has scrolled away again
  }
  updateJumpButton();
};

const leave = () => {
  hasLeft = true;
  setFollowing(false);
};

const jumpToEnd = () => {
  hasLeft = false;
  setFollowing(true);
};

// Call after text was added.
export const followNewText = () => {
  const card = keepWorkBelowText();
  if (card && isEnding && wasFollowing) return showEnd(card);
  if (card && !isFollowing && !isEnding && distanceToEnd() > EDGE_PX) {
    hasLeft = true;
    jumpButton.dataset.new = "";
  }
  setFollowing(isFollowing);
};

// Call before the end of an answer is drawn: what then appears below its text must not scroll its reader away.
export const stayAtText = () => {
  if (liveCards().length > 1) return; // the one beside it goes on
  isEnding = true;
  wasFollowing = isFollowing;
  if (!queue.childElementCount) isFollowing = false;
};

// Scroll to the notice and the actions of an answer that ended, as far as its last lines stay in view.
const showEnd = (card) => {
  const text = card.querySelector("[data-answer]").getBoundingClientRect();
  const linesTop = page.scrollTop + text.bottom - LAST_LINES_PX - document.querySelector(".topbar").offsetHeight;
  const top = Math.min(endPosition(), linesTop);
  if (top > page.scrollTop) page.scrollTo({ top });
};

// The last text and the end may come in one frame: the panel with the work returns to the layout when the text rests.
document.addEventListener("legible:settled", ({ target: card }) => {
  const follows = isEnding && wasFollowing;
  isEnding = false;
  if (!works.has(card)) return;
  placeWork(card); // not a frame later: the end may have brought a summary
  requestAnimationFrame(() => requestAnimationFrame(() => {
    returnWorkToLayout(card);
    if (follows) showEnd(card);
  }));
});

addEventListener("scroll", () => {
  const movedUp = page.scrollTop < lastTop;
  const isAtEnd = distanceToEnd() <= EDGE_PX;
  // Moving up while still near the end, or down while far from it, changes nothing.
  if (movedUp !== isAtEnd && !isEnding) isFollowing = isAtEnd;
  if (movedUp && !isAtEnd) hasLeft = true;
  lastTop = page.scrollTop;
  updateJumpButton();
}, { passive: true });

addEventListener("wheel", (event) => {
  if (event.deltaY < 0) leave();
}, { passive: true });

addEventListener("touchmove", leave, { passive: true });

document.addEventListener("keydown", ({ key, target }) => {
  if (["ArrowUp", "PageUp", "Home"].includes(key) && !target.matches("textarea, input")) leave();
});

// An opened panel may push the end out of sight; its reader reads there.
document.addEventListener("click", ({ target }) => {
  if (!target.closest(".disclosure__bar")) return;
  const wasFollowing = isFollowing;
  isFollowing = false;
  setTimeout(() => {
    isFollowing = wasFollowing && distanceToEnd() <= EDGE_PX;
    updateJumpButton();
  }, TOGGLE_SETTLE_MS);
});

// With content-visibility a card gets its real height only when it comes into sight.
new ResizeObserver(() => isFollowing && setFollowing(true)).observe(messages);

jumpButton.addEventListener("click", jumpToEnd);
["legible:sent", "legible:asked-again"].forEach((name) => document.addEventListener(name, jumpToEnd));

// Styles of elements with an id go into constructed sheets: htmx copies attributes of these when it swaps them, and the
// content security policy refuses style attributes. After a change of a sheet browsers look at all elements again.

const [cardHeights, workRoom] = [new CSSStyleSheet(), new CSSStyleSheet()];
document.adoptedStyleSheets.push(cardHeights, workRoom);

// While an answer is written, the panel with its work ends at the top of the card and is moved below the text by a
// transform: in the layout each new line of the text would shift it, and a summary the parts below. The text has none,
// or all of it would be painted for each change.

const LIVE = "#messages > [data-status=streaming], #messages > .comparison [data-status=streaming]";
const works = new Map(); // card -> the height that is reserved for its panel
const watched = new WeakSet(); // the parts of these cards whose sizes are observed

const liveCards = () => [...chat.querySelectorAll(LIVE)];

const reserveRoom = () => {
  const rules = [...works].map(([{ id }, px]) => `
    #${id} { position: relative; overflow-anchor: none }
    #${id} > [data-answer] { margin-bottom: calc(${px}px + var(--s4)) } /* the footer's margin is in it */
    #${id} > .work { position: absolute; inset: auto var(--s3) 100% }
  `);
  workRoom.replaceSync(rules.join(""));
};

const placeWork = (card) => {
  const answer = card.querySelector("[data-answer]");
  const work = card.querySelector(".work");
  if (!answer || !work) return;
  if (work.offsetHeight !== works.get(card)) {
    works.set(card, work.offsetHeight);
    reserveRoom();
  }
  work.style.translate = `0 ${answer.offsetTop + answer.offsetHeight + work.offsetHeight}px`;
};

const resizes = new ResizeObserver((entries) => {
  const resized = new Set(entries.map(({ target }) => target.parentElement));
  resized.forEach((card) => works.has(card) && placeWork(card));
});

const forgetWork = (card) => {
  works.delete(card);
  for (const part of card.children) {
    watched.delete(part);
    resizes.unobserve(part);
  }
};

// Returns a card that is being written, if there is one. Behind a reload its parts are swapped for newer ones.
const keepWorkBelowText = () => {
  const cards = liveCards();
  for (const card of works.keys()) if (!card.isConnected) forgetWork(card);
  for (const card of cards) {
    if (!works.has(card)) works.set(card, -1);
    for (const part of card.children) {
      if (watched.has(part)) continue; // to observe it again would place the work for nothing
      watched.add(part);
      resizes.observe(part);
    }
    placeWork(card); // the observer may be told of a summary only after it was painted
  }
  return cards.at(-1);
};

document.addEventListener("htmx:afterSwap", keepWorkBelowText); // all cards may be others

const returnWorkToLayout = (card) => {
  if (!works.has(card)) return;
  card.querySelector(".work")?.style.removeProperty("translate");
  forgetWork(card);
  reserveRoom();
};

// Keep the place while all messages are drawn again.

const contentHeight = (card) => {
  const style = getComputedStyle(card);
  return card.offsetHeight - Number.parseFloat(style.paddingTop) - Number.parseFloat(style.paddingBottom);
};

// The card at the top of the window, where it begins there, and the heights that cards out of sight keep.
const placeRead = () => {
  const cards = [...messages.children];
  const card = cards.find((one) => one.getBoundingClientRect().bottom > 0);
  const heights = cards.map((one) => [one.id, contentHeight(one)]);
  return { id: card?.id, top: card?.getBoundingClientRect().top, heights };
};

const keepHeights = ({ heights }) => {
  const rules = heights.map(([id, px]) => `#${id} { contain-intrinsic-height: auto ${px}px }`);
  cardHeights.replaceSync(rules.join("\n"));
};

const returnTo = ({ id, top }) => {
  const card = document.getElementById(id);
  if (card) scrollBy({ top: card.getBoundingClientRect().top - top, behavior: "instant" });
};

// Return a function that scrolls back to what was at the top before.
export const holdPosition = () => {
  const place = placeRead();
  keepHeights(place);
  return () => returnTo(place);
};

// Earlier messages are inserted above: keep the place, and the focus near where it was.

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { target } = detail;
  if (target.id !== "earlier" || !detail.shouldSwap) return;
  const card = target.nextElementSibling;
  const top = card.getBoundingClientRect().top;
  const hadFocus = target.contains(document.activeElement);
  card.tabIndex = -1;
  document.addEventListener("htmx:afterSwap", () => { // before the browser paints
    scrollBy({ top: card.getBoundingClientRect().top - top, behavior: "instant" });
    if (hadFocus) (document.querySelector("#earlier a") ?? card).focus({ preventScroll: true });
  }, { once: true });
});

// A reload, and the way back to the page, show what was read. The browser remembers a distance from the top, and the
// cards above have other heights until they come into sight. An address with a fragment names its place itself.

const placeKey = `legible:place:${location.pathname}${location.search}`;
const [navigation] = performance.getEntriesByType("navigation");
const isSame = navigation?.type !== "navigate" && !location.hash;
const storedPlace = isSame ? JSON.parse(sessionStorage.getItem(placeKey)) : null;
sessionStorage.removeItem(placeKey);

if (!location.hash) {
  history.scrollRestoration = "manual";
  addEventListener("pagehide", () => {
    const isAtEnd = isFollowing || distanceToEnd() <= EDGE_PX;
    sessionStorage.setItem(placeKey, JSON.stringify(isAtEnd ? null : placeRead()));
  });
}

if (!location.hash && !storedPlace) jumpToEnd();
else {
  if (storedPlace) {
    keepHeights(storedPlace);
    returnTo(storedPlace);
  }
  isFollowing = distanceToEnd() <= EDGE_PX;
  hasLeft = !isFollowing;
  updateJumpButton();
}

// Text

const DRAW_MS = 60; // at most 20 changes a second, with blocks and seconds
const PART_CHARS = 4000; // a long text grows in parts: not all is laid out again
const PANEL_EDGE_PX = 24; // closer to the end of a panel counts as being there

// The block of an answer that still grows: its HTML up to the tip, where text is added, and the end tags behind it.

const openBlocks = new WeakMap(); // element -> { html, end }: up to the tip and behind it, as the server knows it

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

const openBlockOf = (element) => {
  if (!openBlocks.has(element)) openBlocks.set(element, { html: "", end: "" });
  return openBlocks.get(element);
};

// Each change: text that came before it, how much of the HTML stays, what follows, how much of both is finished, and
// the end tags where they are others.
const redrawBlock = (element, changes) => {
  const open = openBlockOf(element);
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
  openBlockOf(element).html += escape(text);
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
  const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < PANEL_EDGE_PX;
  if (isWhole) element.replaceChildren();
  if (isWhole) startPart(element, text);
  else writeLong(element, text);
  if (isAtEnd || isWhole) element.scrollTop = element.scrollHeight;
  element.toggleAttribute("data-faded", element.scrollTop > 0);
};

// What came since the last drawing

const waiting = new Map(); // element id -> { n, text, isWhole }, of an open block also what changed before the text
const openIds = ["", ""]; // of the open block, and of that beside it: named with the whole, not with its changes
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

// Take a text, block or thinking frame. Calls onGap when frames before this one are missing.
export const receiveText = ({ type, n, text, html, beside = false, ...change }, onGap) => {
  if (type === "block" && change.id) openIds[Number(beside)] = change.id;
  const id = type === "thinking" ? change.id : openIds[Number(beside)];
  const element = document.getElementById(id);
  if (!element) return;
  const before = waiting.get(id) ?? { n: Number(element.dataset.n), text: "", isWhole: false, changes: [] };
  const isNext = n === before.n + 1;
  if (type === "block" && (isNext || n === 0 || !change.same))
    waiting.set(id, { n, text: "", changes: [...before.changes, { text: before.text, html, ...change }] });
  else if (n === 0) waiting.set(id, { n, text, isWhole: true });
  else if (isNext) waiting.set(id, { ...before, n, text: before.text + text });
  else if (n > before.n) onGap();
  timer ||= setTimeout(drawText, Math.max(0, drawnAt + DRAW_MS - performance.now()));
};
