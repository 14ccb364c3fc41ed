// Pictures of pages in a reader: where one can't be drawn, its place says why, in the words of the server.

const asked = new WeakSet();

document.addEventListener(
  "error",
  async ({ target }) => {
    if (!target.matches?.(".page-picture") || asked.has(target)) return;
    asked.add(target);
    const answer = await fetch(target.src).catch(() => null);
    if (answer?.ok) target.src = answer.url; // it was drawn meanwhile
    // Signed out, deleted or offline: the browser shows what the picture is called.
    if (!answer?.headers.get("Content-Type")?.startsWith("text/plain")) return;
    const reason = document.createElement("p");
    reason.className = "hint";
    reason.role = "status";
    reason.textContent = await answer.text();
    target.closest("a").replaceWith(reason);
  },
  true, // errors of images don't bubble
);
