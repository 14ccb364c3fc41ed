"""Compare pictures of the pages with those of another commit: ``python -m tests.browser.snapshots [COMMIT] [FOLDER]``.

Pictures depend on the browser's fonts, so none are stored: both states are served and photographed in one run. What
differs is painted into FOLDER (``var/snapshots``); exit code 1 where a picture differs by more than ``MAX_CHANGED``.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chromium import ARGUMENTS, find_chromium
from tests.browser.sites import Site, prepare
from tests.server import ROOT

MAX_CHANGED = 0.1  # percent of a picture's points
THEMES = ("light", "dark")
WIDTHS = {"narrow": 390, "wide": 1280}
HEIGHT = 1600  # so that no page is scrolled
SETTLE_MS = 300  # an opened panel moves the page once more
PANELS = ("[data-reasoning-summary]:not([open]) > summary", "[data-tool-trace]:not([open]) > summary")
# Times and durations read 0.
WITHOUT_TIMES = """() => {
  document.querySelectorAll("[data-elapsed]").forEach((one) => one.removeAttribute("data-elapsed"));
  document.querySelectorAll("time, small, .num, .label, .status, .hint").forEach((one) => {
    const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/[0-9][0-9.,:]*( m?s\\b)?/g, "0");
  });
  return document.fonts.ready.then(() => scrollTo(0, 0));
}"""
# Points that differ by more than a shade become red on a pale copy; where sizes differ, the missing ones count too.
COMPARE = """async ([before, after]) => {
  const images = await Promise.all([before, after].map(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    return image;
  }));
  const [width, height] = ["width", "height"].map((side) => Math.max(...images.map((image) => image[side])));
  const [old, fresh] = images.map((image) => {
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, width, height);
  });
  const SHADE = 8;
  let changed = 0;
  for (let at = 0; at < old.data.length; at += 4) {
    const differs = [0, 1, 2, 3].some((part) => Math.abs(old.data[at + part] - fresh.data[at + part]) > SHADE);
    changed += differs;
    if (differs) fresh.data.set([255, 0, 0, 255], at);
    else fresh.data[at + 3] = 60;
  }
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height }).getContext("2d").putImageData(fresh, 0, 0);
  return [100 * changed / (width * height), canvas.toDataURL().split(",")[1]];
}"""


def main(commit: str = "HEAD", folder: str = "var/snapshots") -> int:
    """Photograph another commit and this tree, and compare."""
    if (browser := find_chromium()) is None:
        print("There is no browser, and none could be installed.")
        return 1
    os.environ["CHROMIUM"] = browser
    target = ROOT / folder
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        other = Path(name) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(other), commit], check=True)  # noqa: S603
        try:
            photograph_tree(other, target / "before")
        finally:
            subprocess.run([*git, "remove", "--force", str(other)], check=True)  # noqa: S603
    photograph_tree(ROOT, target / "after")
    return 0 if compare(target) else 1


def photograph_tree(tree: Path, folder: Path) -> None:
    """Run this file over the product and the test helpers of a tree."""
    command = [sys.executable, "-P", __file__, "--take", str(folder)]
    subprocess.run(command, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, check=True)  # noqa: S603


def take(folder: Path) -> None:
    """Write ``<page>-<theme>-<width>.png`` into a folder."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folders = [Path(name) / part for part in ("prepared", "site")]
        for one in folders:
            one.mkdir()
        prepared = prepare(folders[0])
        site = Site(folders[1], prepared, {})
        pages = {
            "sign-in": "/accounts/login/",
            "finished": prepared.finished,
            "no-result": "/chats/?q=zeppelin",
            "settings": "/accounts/settings/reasoning/",
            "filings": "/filings/",
        }
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=ARGUMENTS)
        try:
            site.start()
            session = site.session("demo")
            for theme in THEMES:
                for width in WIDTHS:
                    for page, path in pages.items():
                        target = folder / f"{page}-{theme}-{width}.png"
                        shoot(browser, site, "" if page == "sign-in" else session, path, theme, width, target)
        finally:
            browser.close()
            site.stop()


def shoot(browser: Browser, site: Site, session: str, path: str, theme: str, width: str, target: Path) -> None:
    context = browser.new_context(
        base_url=site.base_url,
        color_scheme=theme,  # type: ignore[arg-type]
        viewport={"width": WIDTHS[width], "height": HEIGHT},
        reduced_motion="reduce",
    )
    if session:
        context.add_cookies([{"name": "sessionid", "value": session, "url": site.base_url}])
    page = context.new_page()
    page.goto(path)
    page.wait_for_load_state("networkidle")
    for panel in PANELS:
        for bar in page.locator(panel).all():
            bar.click()
    page.wait_for_timeout(SETTLE_MS)
    page.evaluate(WITHOUT_TIMES)
    page.screenshot(path=target, animations="disabled", caret="hide")
    context.close()


def compare(folder: Path) -> bool:
    """Print how much each picture differs; return whether all are within the bar."""
    names = sorted({path.name for part in ("before", "after") for path in (folder / part).glob("*.png")})
    (folder / "changed").mkdir()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=ARGUMENTS)
        page = browser.new_page()
        shares = {name: changed_share(page, folder, name) for name in names}
        browser.close()
    for name, share in shares.items():
        print(f"{share:7.3f} %  {name}{'  changed' if share > MAX_CHANGED else ''}")
    print(f"{len(names)} pictures; what differs is in {folder / 'changed'}")
    return all(share <= MAX_CHANGED for share in shares.values())


def changed_share(page: Page, folder: Path, name: str) -> float:
    """Return how many of a hundred points differ between two pictures, and paint where."""
    paths = [folder / part / name for part in ("before", "after")]
    if not all(path.exists() for path in paths):
        return 100.0
    share, picture = page.evaluate(COMPARE, [b64encode(path.read_bytes()).decode() for path in paths])
    if share:
        (folder / "changed" / name).write_bytes(b64decode(picture))
    return float(share)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--take"]:
        take(Path(sys.argv[2]))
    else:
        sys.exit(main(*sys.argv[1:]))
