// Elapsed seconds of a running answer, the time that the scratchpad's switch has left, and its state in the title and icon of the window.

const composer = document.querySelector("[data-composer]");

const startedAt = new WeakMap(); // element -> milliseconds

const updateSeconds = (element) => {
  const now = performance.now();
  if (!startedAt.has(element)) startedAt.set(element, now - 1000 * element.dataset.elapsed);
  element.textContent = element.textContent.replace(/\d+/, Math.floor((now - startedAt.get(element)) / 1000));
};

const endsAt = new WeakMap(); // element -> milliseconds

const updateTimeLeft = (element) => {
  const now = performance.now();
  if (!endsAt.has(element)) endsAt.set(element, now + 1000 * element.dataset.left);
  const left = Math.max(0, Math.round((endsAt.get(element) - now) / 1000));
  const time = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  element.textContent = element.textContent.replace(/\d+:\d+/, time);
};

setInterval(() => {
  document.querySelectorAll("[data-live] [data-elapsed]").forEach(updateSeconds);
  document.querySelectorAll("[data-left]").forEach(updateTimeLeft);
}, 1000);

// The window says that an answer is being written and, while it is hidden, how the answer ended.

const WINDOW_STATES = { complete: "done", error: "failed", interrupted: "failed" };
const labels = document.querySelector("title").dataset;
const icon = document.querySelector("link[rel=icon]");
const defaultIcon = icon.href;

let windowState = ""; // "", working, done or failed
let conversationTitle = document.title;
let shownTitle = conversationTitle;

const updateTitle = () => {
  if (document.title !== shownTitle) conversationTitle = document.title; // renamed by another script
  shownTitle = windowState ? `${labels[windowState]} · ${conversationTitle}` : conversationTitle;
  if (document.title !== shownTitle) document.title = shownTitle;
};

const setWindowState = (state) => {
  if (state === windowState) return;
  windowState = state;
  icon.href = icon.dataset[state] ?? defaultIcon;
  updateTitle();
};

const followTurn = () => {
  if (composer.hasAttribute("data-running")) return setWindowState("working");
  if (windowState !== "working") return;
  const last = [...document.querySelectorAll("#messages > [data-role=assistant]")].at(-1);
  setWindowState(document.hidden ? WINDOW_STATES[last?.dataset.status] ?? "" : "");
};

new MutationObserver(followTurn).observe(composer, { attributeFilter: ["data-running"] });
new MutationObserver(updateTitle).observe(document.head, { childList: true, subtree: true, characterData: true });
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && windowState !== "working") setWindowState("");
});
followTurn();
