// Citations: a preview of the cited passage on hover and focus, and the reader beside the answer on wide screens.

const SHOW_AFTER_MS = 150;
const HIDE_AFTER_MS = 250; // long enough to move the pointer into the preview
const GAP_PX = 6;
const isWide = matchMedia("(width >= 70rem)");

const preview = document.getElementById("citation-preview");
const reader = document.getElementById("reader"); // shared pages have none

// Preview

let shownFor = null; // the link whose passage is previewed
let timer = 0;

const placeOf = ({ pathname, hash }) => pathname + hash;

// On a shared page a citation leads to its excerpt; elsewhere that is in the row of sources, which names its passage.
const excerptOf = (link) => {
  if (link.getAttribute("href").startsWith("#")) return document.getElementById(link.hash.slice(1));
  const sources = link.closest(".card")?.querySelectorAll(".sources a[data-citation]") ?? [];
  return [...sources].find((source) => placeOf(source) === placeOf(link))?.parentElement.querySelector("template")?.content;
};

const place = () => {
  const link = shownFor.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = preview;
  const below = link.bottom + GAP_PX;
  const isAbove = below + offsetHeight > innerHeight && link.top - GAP_PX > offsetHeight;
  preview.style.top = `${isAbove ? link.top - GAP_PX - offsetHeight : below}px`;
  preview.style.left = `${Math.max(GAP_PX, Math.min(link.left, innerWidth - offsetWidth - GAP_PX))}px`;
};

const hide = () => {
  clearTimeout(timer);
  if (!shownFor) return;
  shownFor.removeAttribute("aria-describedby");
  shownFor = null;
  preview.hidePopover();
};

const show = (link) => {
  clearTimeout(timer);
  if (link === shownFor) return;
  const excerpt = excerptOf(link);
  if (!excerpt) return;
  hide();
  shownFor = link;
  if (link.dataset.verified !== "false") link.removeAttribute("title"); // the preview says more
  preview.replaceChildren(...[...excerpt.children].map((child) => child.cloneNode(true)));
  link.setAttribute("aria-describedby", preview.id);
  preview.showPopover();
  place();
};

const later = (action, ms) => {
  clearTimeout(timer);
  timer = setTimeout(action, ms);
};

document.addEventListener("pointerover", ({ target, pointerType }) => {
  if (pointerType !== "mouse") return;
  const link = target.closest("a[data-citation]");
  if (link) later(() => show(link), SHOW_AFTER_MS);
  else if (preview.contains(target)) clearTimeout(timer);
  else later(hide, shownFor ? HIDE_AFTER_MS : 0);
});

document.addEventListener("focusin", ({ target }) => {
  if (target.matches("a[data-citation]:focus-visible")) show(target);
  else if (!preview.contains(target)) hide();
});

document.addEventListener("focusout", ({ target }) => {
  if (target === shownFor) hide();
});

// In the capture phase, so that Escape doesn't stop the answer as well.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !shownFor) return;
  event.preventDefault();
  event.stopPropagation();
  hide();
}, { capture: true });

document.addEventListener("scroll", ({ target }) => {
  if (shownFor?.isConnected && !preview.contains(target)) place();
  else if (!preview.contains(target)) hide();
}, { capture: true, passive: true });

// Reader

let openedFrom = null;

const closeReader = () => {
  reader.hidden = true;
  reader.replaceChildren();
  if (openedFrom?.isConnected) openedFrom.focus();
};

const openReader = async (link) => {
  hide();
  const response = await fetch(link.href, { headers: { "HX-Request": "true" } }).catch(() => null);
  // Without a session, and where the filing was deleted, its page says so.
  if (!response?.ok || response.redirected) return location.assign(link.href);
  const top = link.getBoundingClientRect().top;
  if (!reader.contains(link)) openedFrom = link;
  htmx.swap(reader, await response.text(), { swapStyle: "innerHTML" });
  reader.hidden = false;
  // The column beside it is narrower now: the link stays where it was.
  scrollBy(0, link.getBoundingClientRect().top - top);
  const cited = reader.querySelector("mark, [data-cited]");
  if (cited) reader.scrollTop += cited.getBoundingClientRect().top - reader.getBoundingClientRect().top - reader.clientHeight / 3;
  reader.focus({ preventScroll: true });
};

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-citation]");
  if (reader && event.target.closest("[data-close-reader]")) return closeReader();
  if (!link) return preview.contains(event.target) ? undefined : hide();
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.getAttribute("href").startsWith("#")) {
    event.preventDefault();
    show(link);
  } else if (reader && isWide.matches) {
    event.preventDefault();
    openReader(link);
  }
});

reader?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  closeReader();
});
