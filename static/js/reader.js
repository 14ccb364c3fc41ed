// The reader page: the drawer of its contents, and fragments in another part of a long filing.

document.addEventListener("click", ({ target }) => {
  if (target.closest("a")) target.closest(":popover-open")?.hidePopover();
});

// An address with only a fragment may name a passage that is in another part.
const fragment = location.hash.slice(1);
const isKnown = new URLSearchParams(location.search).has("passage");
if (fragment && !isKnown && !document.getElementById(fragment)) {
  location.replace(`?passage=${encodeURIComponent(fragment)}#${fragment}`);
}
