// The reader page: the drawer of its contents, fragments in another part of a long filing, and the way back.

document.addEventListener("click", ({ target }) => {
  if (target.closest("a")) target.closest(":popover-open")?.hidePopover();
});

// An address with only a fragment may name a passage that is in another part.
const fragment = location.hash.slice(1);
const isKnown = new URLSearchParams(location.search).has("passage");
if (fragment && !isKnown && !document.getElementById(fragment)) {
  location.replace(`?passage=${encodeURIComponent(fragment)}#${fragment}`);
}

// Back leads to the answer whose citation led here, also after a look at other parts.
const citedIn = sessionStorage.getItem("legible:cited-in");
const pathBefore = document.referrer && new URL(document.referrer).pathname;
if (citedIn && [citedIn.split("#")[0], location.pathname].includes(pathBefore)) {
  document.querySelector("[data-back]").href = citedIn;
} else {
  sessionStorage.removeItem("legible:cited-in");
}
