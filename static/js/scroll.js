// Scrolling: follow the newest text while the reader is at the end, and keep what they read in place otherwise.

const chat = document.getElementById("chat");
const jumpButton = document.getElementById("jump");
const page = document.scrollingElement;
const queue = document.getElementById("queue");
const messages = document.getElementById("messages");

const EDGE_PX = 48; // closer to the end than this counts as being at the end
const TOGGLE_SETTLE_MS = 200;

let isFollowing = false;
let hasLeft = false; // the reader scrolled away from the end
let isEnding = false; // the end of an answer is being drawn
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
  if (following && messages.childElementCount) page.scrollTop = endPosition();
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
  const card = chat.querySelector("#messages > [data-status=streaming]");
  if (card) keepWorkBelowText(card);
  if (card && !isFollowing && !isEnding && distanceToEnd() > EDGE_PX) {
    hasLeft = true;
    jumpButton.dataset.new = "";
  }
  setFollowing(isFollowing);
};

// Call before the end of an answer is drawn: what then appears below its text must not scroll its reader away.
export const stayAtText = () => {
  isEnding = true;
  if (!queue.childElementCount) isFollowing = false;
};

// The last text and the end may come in one frame: the panel with the work returns to the layout when the text rests.
document.addEventListener("legible:settled", ({ target: card }) => {
  isEnding = false;
  card.classList.add("card--settling");
  if (card === liveCard) placeWork(); // not a frame later: the end may have brought a summary
  requestAnimationFrame(() => requestAnimationFrame(() => card.classList.remove("card--settling")));
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
document.addEventListener("htmx:wsAfterSend", jumpToEnd);

// Styles go into constructed sheets, because the content security policy refuses style attributes.

const [cardHeights, workPosition] = [new CSSStyleSheet(), new CSSStyleSheet()];
document.adoptedStyleSheets.push(cardHeights, workPosition);

// While an answer is written, the panel with its work stays at the top of the card and is moved below the text by a
// transform: in the layout each new line of the text would shift it. The text has none, or all of it would be painted
// for each change.

const LIVE = "#messages > :is([data-status=streaming], .card--settling)";
let liveCard = null;

const placeWork = () => {
  const answer = liveCard.querySelector("[data-answer]");
  const work = liveCard.querySelector(".work");
  if (!answer || !work) return;
  workPosition.replaceSync(`
    ${LIVE} { position: relative; overflow-anchor: none }
    ${LIVE} > [data-answer] { margin-bottom: calc(${work.offsetHeight}px + var(--s4)) } /* the footer's margin is in it */
    ${LIVE} > .work { position: absolute; inset: 0 var(--s3) auto; translate: 0 ${answer.offsetTop + answer.offsetHeight}px }
  `);
};

const resizes = new ResizeObserver(placeWork);

const keepWorkBelowText = (card) => {
  if (card === liveCard) return;
  liveCard = card;
  resizes.disconnect();
  [...card.children].forEach((part) => resizes.observe(part));
};

// Keep the place while all messages are drawn again.

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
hasLeft = !isFollowing;
const [navigation] = performance.getEntriesByType("navigation");
if (!location.hash && navigation?.type === "navigate") jumpToEnd();
else updateJumpButton();
