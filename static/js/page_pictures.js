// Pictures of pages in a reader: loaded when they are shown. Where one can't be drawn, its place says why, in the words
// of the server.

const asked = new WeakSet();

// Neither event bubbles, so that both are caught on their way down.
document.addEventListener("toggle", ({ target }) => showPicture(target), true);
document.addEventListener("error", ({ target }) => sayWhy(target), true);

function showPicture(details) {
  const template = details.querySelector?.(":scope[open] > [data-page-picture] > template");
  template?.parentElement.replaceChildren(template.content.cloneNode(true));
}

async function sayWhy(picture) {
  if (!picture.matches?.(".page-picture") || asked.has(picture)) return;
  asked.add(picture);
  const answer = await fetch(picture.src).catch(() => null);
  if (answer?.ok) picture.src = answer.url; // it was drawn meanwhile
  // Signed out, deleted or offline: the browser shows what the picture is called.
  if (!answer?.headers.get("Content-Type")?.startsWith("text/plain")) return;
  const reason = document.createElement("p");
  reason.className = "hint";
  reason.role = "status";
  reason.textContent = await answer.text();
  picture.closest("a").replaceWith(reason);
}
