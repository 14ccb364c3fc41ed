// A notification when an answer is ready while its tab is hidden. Each browser has its own switch, on the settings page.

const STORAGE_KEY = "legible:notify";
const isSupported = "Notification" in window;

const isOn = () => isSupported && Notification.permission === "granted" && localStorage.getItem(STORAGE_KEY) === "on";

// Raises where the browser has them for service workers only, as on Android.
const notify = (title, body, tag) => {
  const notification = new Notification(title, { body, tag, icon: document.querySelector("link[rel=apple-touch-icon]").href });
  notification.addEventListener("click", () => {
    window.focus();
    notification.close();
  });
};

export const notifyOfAnswer = () => {
  if (!isOn()) return;
  const { done } = document.querySelector("title").dataset;
  notify(document.getElementById("title").textContent.trim(), done, location.pathname);
};

// The switch

const button = document.querySelector("[data-notify]");
const hint = document.querySelector("[data-notify-hint]");

const switchOn = async () => {
  const { label, denied } = hint.dataset;
  try {
    if (await Notification.requestPermission() !== "granted") return (hint.textContent = denied);
    notify(button.textContent.trim(), label, STORAGE_KEY);
    localStorage.setItem(STORAGE_KEY, "on");
  } catch {
    hint.textContent = hint.dataset.unsupported;
  }
};

const update = () => button.setAttribute("aria-checked", isOn());

button?.addEventListener("click", async () => {
  if (isOn()) localStorage.removeItem(STORAGE_KEY);
  else await switchOn();
  update();
});

if (button) update();
