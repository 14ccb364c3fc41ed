// Choices about keyboard shortcuts: stored in this browser, changed by the switches in the help and in the settings.

const STORAGE_KEY = "legible:keys";
const DEFAULTS = { on: true, enterSends: true, copyKey: false }; // by data-choice

export const choices = { ...DEFAULTS };

const load = () => {
  try {
    Object.assign(choices, DEFAULTS, JSON.parse(localStorage.getItem(STORAGE_KEY)));
  } catch {
    Object.assign(choices, DEFAULTS);
  }
  document.querySelectorAll("[data-choice]").forEach((button) => {
    button.setAttribute("aria-checked", choices[button.dataset.choice]);
  });
  document.dispatchEvent(new Event("legible:shortcuts"));
};

document.addEventListener("click", ({ target }) => {
  const name = target.closest("[data-choice]")?.dataset.choice;
  if (!name) return;
  localStorage.setItem(STORAGE_KEY, JSON.stringify({ ...choices, [name]: !choices[name] }));
  load();
});

// Another tab, or a page from the back/forward cache, may have other choices.
addEventListener("storage", load);
addEventListener("pageshow", load);
load();
