// Drawers (popovers), dialogs, and Escape in the list of conversations.

const sidebar = document.getElementById("side");
const searchField = document.getElementById("find");

// A drawer closes when a link in it is followed, and before the page goes into the back/forward cache.

document.addEventListener("click", ({ target }) => {
  if (target.closest("a:not([hx-get])")) target.closest(":popover-open")?.hidePopover();
});

addEventListener("pagehide", () => document.querySelector(":popover-open")?.hidePopover());

// The content of a dialog is loaded by the click that opens it.
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.matches("dialog:not([open])")) detail.target.showModal();
});

// Escape clears the search, or cancels the rename form.
sidebar?.addEventListener("keydown", (event) => {
  const isSearching = event.target === searchField && searchField.value;
  const cancel = event.target.closest(".manage")?.querySelector("[data-cancel]");
  if (event.key !== "Escape" || !(isSearching || cancel)) return;
  event.preventDefault();
  event.stopPropagation();
  if (cancel) return cancel.click();
  searchField.value = "";
  searchField.dispatchEvent(new Event("input", { bubbles: true }));
});
