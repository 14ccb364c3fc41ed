// Scrolling: follow the newest text while the reader is at the end, and keep what they read in place otherwise.

const chat = document.getElementById("chat");
const jumpButton = document.getElementById("jump");
const page = document.scrollingElement;
const composerBar = jumpButton.closest(".composer-bar");
const queue = document.getElementById("queue");
const messages = document.getElementById("messages");

const EDGE_PX = 48; // closer to the end than this counts as being at the end
const PEEK_PX = 32; // visible below the text that is being written
const TOGGLE_SETTLE_MS = 200;

let isFollowing = false;
let pxBelowEnd = 0; // how far below the followed end the reader has scrolled
let lastTop = page.scrollTop;

// While an answer is being written, the end is the end of its text, once that fills the page below its question:
// summary and steps below it stay out of sight. Otherwise it is the end of the page.

const endOfText = (card) => {
  const answer = card.querySelector("[data-answer]");
  const text = answer.lastElementChild ?? answer;
  const visibleEnd = composerBar.getBoundingClientRect().top - PEEK_PX;
  const textEnd = page.scrollTop + text.getBoundingClientRect().bottom - visibleEnd;
  const question = card.previousElementSibling ?? card;
  const questionTop = page.scrollTop + question.getBoundingClientRect().top;
  const questionAtTop = questionTop - Number.parseFloat(getComputedStyle(page).scrollPaddingTop);
  if (!pxBelowEnd) card.toggleAttribute("data-long", textEnd > questionAtTop);
  return Math.max(textEnd, questionAtTop);
};

const endPosition = () => {
  const lastPosition = page.scrollHeight - page.clientHeight;
  const card = chat.querySelector("#messages > [data-status=streaming]:last-child");
  return card && !queue.childElementCount ? Math.min(lastPosition, endOfText(card)) : lastPosition;
};

const distanceToEnd = () => endPosition() - page.scrollTop;

const updateJumpButton = () => {
  jumpButton.hidden = isFollowing || distanceToEnd() <= EDGE_PX || !messages.childElementCount;
  if (jumpButton.hidden) delete jumpButton.dataset.new;
};

const setFollowing = (following) => {
  isFollowing = following;
  if (following && messages.childElementCount) page.scrollTop = endPosition() + pxBelowEnd;
  updateJumpButton();
};

const jumpToEnd = () => {
  pxBelowEnd = 0;
  setFollowing(true);
};

// Call after text was added.
export const followNewText = () => {
  if (!isFollowing && chat.querySelector("#messages > [data-status=streaming]")) jumpButton.dataset.new = "";
  setFollowing(isFollowing);
};

// Call before the end of an answer is drawn: what then appears below it must not scroll its reader away.
export const stayAtText = () => {
  if (distanceToEnd() < EDGE_PX && !queue.childElementCount) isFollowing = false;
};

addEventListener("scroll", () => {
  const movedUp = page.scrollTop < lastTop;
  const isAtEnd = distanceToEnd() <= EDGE_PX;
  // Moving up while still near the end, or down while far from it, changes nothing.
  if (movedUp !== isAtEnd) isFollowing = isAtEnd;
  pxBelowEnd = Math.max(0, -distanceToEnd());
  if (pxBelowEnd <= EDGE_PX) pxBelowEnd = 0;
  lastTop = page.scrollTop;
  updateJumpButton();
}, { passive: true });

addEventListener("wheel", (event) => {
  if (event.deltaY < 0) setFollowing(false);
}, { passive: true });

addEventListener("touchmove", () => setFollowing(false), { passive: true });

document.addEventListener("keydown", ({ key, target }) => {
  if (["ArrowUp", "PageUp", "Home"].includes(key) && !target.matches("textarea, input")) setFollowing(false);
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
document.addEventListener("htmx:wsAfterSend", jumpToEnd);

// Keep the place while all messages are drawn again. Styles go into constructed sheets, because the content security
// policy refuses style attributes.

const [cardHeights, answerHeights] = [new CSSStyleSheet(), new CSSStyleSheet()];
document.adoptedStyleSheets.push(cardHeights, answerHeights);

const contentHeight = (card) => {
  const style = getComputedStyle(card);
  return card.offsetHeight - Number.parseFloat(style.paddingTop) - Number.parseFloat(style.paddingBottom);
};

// Return a function that scrolls back to what was at the top before.
export const holdPosition = () => {
  const cards = [...messages.children];
  const rules = cards.map((card) => `#${card.id} { contain-intrinsic-height: auto ${contentHeight(card)}px }`);
  cardHeights.replaceSync(rules.join("\n")); // cards out of sight keep their height
  const card = cards.find((one) => one.getBoundingClientRect().bottom > 0);
  const top = card?.getBoundingClientRect().top;
  return () => {
    const redrawn = card && document.getElementById(card.id);
    if (redrawn) scrollBy(0, redrawn.getBoundingClientRect().top - top);
  };
};

// A card that grew on this page keeps the height of its answer, so that panels in it open downwards.

document.addEventListener("legible:settled", ({ target }) => target.toggleAttribute("data-held", true));

document.addEventListener("click", ({ target }) => {
  const card = target.closest(".disclosure__bar")?.closest("[data-status=streaming], [data-held]");
  if (!card) return;
  const selector = `#${card.id}:is([data-status=streaming], [data-held]:last-child) > .prose`;
  answerHeights.replaceSync(`${selector} { min-height: ${card.querySelector(".prose").offsetHeight}px }`);
}, true);

// Earlier messages are inserted above: keep the place, and the focus near where it was.

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { target } = detail;
  if (target.id !== "earlier") return;
  const card = target.nextElementSibling;
  const top = card.getBoundingClientRect().top;
  const hadFocus = target.contains(document.activeElement);
  card.tabIndex = -1;
  document.addEventListener("htmx:afterSwap", () => { // before the browser paints
    scrollBy({ top: card.getBoundingClientRect().top - top, behavior: "instant" });
    if (hadFocus) (document.querySelector("#earlier a") ?? card).focus({ preventScroll: true });
  }, { once: true });
});

isFollowing = distanceToEnd() <= EDGE_PX;
const [navigation] = performance.getEntriesByType("navigation");
if (!location.hash && navigation?.type === "navigate") setFollowing(true);
