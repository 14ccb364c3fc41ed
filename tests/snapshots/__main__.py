"""Compare this source with another commit, picture by picture: ``python -m tests.snapshots [COMMIT] [FOLDER]``.

Pictures of a browser depend on its fonts, so none are kept: both states are served and photographed in one run, by one
browser. What differs is painted into FOLDER (``var/snapshots``); ends with 1 where a picture differs by more than the
bar allows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import ARGUMENTS, find_chromium
from tests.server import ROOT

MOST_CHANGED = 0.1  # percent of a picture's points
TAKE = ROOT / "tests" / "snapshots" / "take.py"
# Points that differ by more than a shade become red on a pale copy; where sizes differ, what one lacks counts as well.
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


def photograph(tree: Path, folder: Path) -> None:
    """Take the pictures of one tree with what it brings itself."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    subprocess.run([sys.executable, "-P", str(TAKE), str(folder)], cwd=tree, env=environment, check=True)  # noqa: S603


def changed(page: Page, before: Path, after: Path, target: Path) -> float:
    """Return how many of a hundred points differ between two pictures, and paint where."""
    if not (before.exists() and after.exists()):
        return 100.0
    share, picture = page.evaluate(COMPARE, [b64encode(one.read_bytes()).decode() for one in (before, after)])
    if share:
        target.write_bytes(b64decode(picture))
    return float(share)


def compare(folder: Path) -> bool:
    """Print how much each picture differs; return whether all are within the bar."""
    names = sorted({path.name for part in ("before", "after") for path in (folder / part).glob("*.png")})
    (folder / "changed").mkdir(exist_ok=True)
    for old in (folder / "changed").glob("*.png"):
        old.unlink()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=ARGUMENTS)
        page = browser.new_page()
        shares = {
            name: changed(page, *(folder / part / name for part in ("before", "after", "changed"))) for name in names
        }
        browser.close()
    lines = [f"{share:7.3f} %  {name}{'  changed' if share > MOST_CHANGED else ''}" for name, share in shares.items()]
    print(*lines, f"{len(names)} pictures; what differs is in {folder}", sep="\n")
    return all(share <= MOST_CHANGED for share in shares.values())


def main(commit: str = "HEAD", folder: str = "var/snapshots") -> int:
    """Photograph another commit and this tree, and compare."""
    if (browser := find_chromium()) is None:
        print("There is no browser, and none could be had.")
        return 1
    os.environ["CHROMIUM"] = browser
    with tempfile.TemporaryDirectory() as name:
        other = Path(name) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(other), commit], check=True)  # noqa: S603
        try:
            photograph(other, ROOT / folder / "before")
        finally:
            subprocess.run([*git, "remove", "--force", str(other)], check=True)  # noqa: S603
    photograph(ROOT, ROOT / folder / "after")
    return 0 if compare(ROOT / folder) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
