"""Check a page in its present state: rules of WCAG that axe-core checks, words and controls that don't fit."""

from collections.abc import Iterator

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# Django's forms.css imports another file; with preload axe-core copies it into an inline style, which we refuse.
OPTIONS = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "tag", "values": TAGS},
    "rules": {"label-content-name-mismatch": {"enabled": True}},  # 2.5.3; axe-core calls it experimental
    "preload": False,
}
LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (360, 1280)]
HEIGHT = 3000  # all of a card: what a sticky bar covers for the moment is no small target
AT_REST = "() => Promise.allSettled(document.getAnimations().map((each) => each.finished))"

# Every word of the product, not of its users and models, gets almost a third longer.
LENGTHEN = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  const foreign = "[data-answer], .ask, pre, script, style, noscript";
  const longer = (word) => word + word.slice(0, Math.ceil(word.length * 0.3));
  const before = document.body.textContent.length;
  for (const text of texts) {
    const isOurs = text.data.trim() && !text.parentElement.closest(foreign);
    if (isOurs) text.data = text.data.replace(/\\p{L}{3,}/gu, longer);
  }
  return document.body.textContent.length / before;
}"""
# Boxes with words that are wider than what shows of them, except those with an ellipsis or that scroll.
CLIPPED = """() => [...document.querySelectorAll("body *")].filter((one) => {
  const { overflowX, textOverflow, display, clip, clipPath } = getComputedStyle(one);
  const isUnseen = clip !== "auto" || clipPath !== "none";
  const hasWords = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const isMeant = textOverflow === "ellipsis" || ["auto", "scroll"].includes(overflowX) || isUnseen;
  if (!hasWords || isMeant || display === "inline" || !one.checkVisibility()) return false;
  return one.scrollWidth > one.clientWidth + 1;
}).map((one) => `clipped: ${one.outerHTML.slice(0, 120)}`)"""
# Controls that overlap, except sticky bars, below which others pass, and larger targets.
OVERLAPPING = """() => {
  const floats = (one) => ["fixed", "sticky"].includes(getComputedStyle(one).position);
  const isSticky = (one) => {
    for (let box = one; box; box = box.parentElement) if (floats(box)) return true;
    return false;
  };
  const shown = (one) => {
    let { left, right, top, bottom } = one.getBoundingClientRect();
    for (let box = one.parentElement; box; box = box.parentElement) {
      if (getComputedStyle(box).overflowX === "visible") continue;
      left = Math.max(left, box.getBoundingClientRect().left);
      right = Math.min(right, box.getBoundingClientRect().right);
    }
    return { left, right, top, bottom };
  };
  const root = document.querySelector("dialog[open]") ?? document.body;
  const controls = [...root.querySelectorAll("a, button, input, select, textarea, summary")].filter(
    (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !isSticky(one)
      && !one.matches(".disclosure__bar") && getComputedStyle(one).clipPath === "none");
  const boxes = controls.map((one) => [one, shown(one)]);
  const shared = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]) > 1;
  const meet = (a, b) => shared(a, b, "left", "right") && shared(a, b, "top", "bottom");
  return boxes.flatMap(([one, box], index) => boxes.slice(index + 1)
    .filter(([other, its]) => !one.contains(other) && !other.contains(one) && meet(box, its))
    .map(([other]) => `overlapping: ${one.outerHTML.slice(0, 100)} and ${other.outerHTML.slice(0, 100)}`));
}"""
# Controls that a finger may miss, except links in a line of text; a label, an option and a tile are one target each.
SMALL = """() => [...document.querySelectorAll("a, button, input, select, summary, textarea")].filter((one) => {
  const whole = one.closest("label, .option") ?? (one.matches(".attachment__name") ? one.closest("li") : one);
  const { width, height } = whole.getBoundingClientRect();
  const isInText = one.matches("a") && getComputedStyle(one).display === "inline";
  const isShown = one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !one.matches(".skip");
  return isShown && !isInText && Math.min(width, height) < 44;
}).map((one) => `small: ${one.outerHTML.slice(0, 120)}`)"""
# What has the focus, but is altogether behind a bar, a panel or the edge of the window.
OBSCURED = """() => {
  // Tab closes a menu, so that nothing behind one gets the focus.
  const root = document.querySelector("dialog[open], .conversation-menu:popover-open") ?? document.body;
  const stops = [...root.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")].filter(
    (one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && one.type !== "hidden");
  const portions = [0.02, 0.25, 0.5, 0.75, 0.98];
  const isSeen = (one) => {
    const { left, top, width, height } = (one.closest("label") ?? one).getBoundingClientRect();
    return portions.some((x) => portions.some((y) => {
      const hit = document.elementFromPoint(left + width * x, top + height * y);
      if (hit?.closest(".numbers__body")) return true; // Escape closes it
      return Boolean(hit) && ((one.closest("label") ?? one).contains(hit) || hit.closest("label")?.control === one);
    }));
  };
  return stops.filter((one) => {
    document.activeElement.blur(); // else what has it already isn't scrolled to
    one.focus();
    return document.activeElement === one && !isSeen(one);
  }).map((one) => `obscured: ${one.outerHTML.slice(0, 120)}`);
}"""
# The spacing of text that a reader may choose (WCAG 1.4.12). A sheet that a script makes needs no permission.
SPACE = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }
    p { margin-bottom: 2em !important }`);
  document.adoptedStyleSheets = [sheet];
}"""
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['scrolls sideways'] : []"


def resize(page: Page, width: int, height: int) -> None:
    """Change the window, and wait until the page has seen its new size and answered."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def violations(page: Page) -> list[str]:
    """Return what axe-core objects to, and where the page scrolls sideways."""
    found = []
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        resize(page, width, HEIGHT)
        page.evaluate(AT_REST)  # Django's own links fade from one scheme into the other
        page.evaluate("scrollTo(0, document.body.scrollHeight)")  # the composer covers the end of the page
        response = Axe().run(page, options=OPTIONS).response
        assert response["passes"], "axe-core looked at nothing"
        for violation in response["violations"]:
            nodes = [node["html"][:200] for node in violation["nodes"]]
            found.append(f"{scheme} {width}: {violation['id']}: {nodes}")
        found += [f"{scheme} {width}: {fault}" for fault in page.evaluate(TOO_WIDE)]
    return found


def cramped(page: Page) -> Iterator[str]:
    """Space the text, and yield what is clipped, overlaps or scrolls sideways."""
    page.evaluate(SPACE)
    for width in (360, 1280):
        resize(page, width, 800)
        for look in (CLIPPED, OVERLAPPING, TOO_WIDE):
            yield from (f"spaced {width}: {fault}" for fault in page.evaluate(look))


def zoomed(page: Page) -> Iterator[str]:
    """Look at 100, 200 and 400 % of 1280 by 1024: what is clipped or scrolls sideways, and what hides the focus."""
    page.emulate_media(reduced_motion="reduce")
    for width, height in ((320, 256), (640, 512), (1280, 1024)):
        resize(page, width, height)
        for look in (CLIPPED, OVERLAPPING, TOO_WIDE, OBSCURED):
            yield from (f"zoomed {width}: {fault}" for fault in page.evaluate(look))


def small_targets(page: Page) -> list[str]:
    """Return the controls that are smaller than 44 by 44 pixels."""
    return list(page.evaluate(SMALL))


def misfits(page: Page) -> Iterator[str]:
    """Make the words of a page longer, and yield what is clipped or overlaps, in both directions and widths."""
    assert page.evaluate(LENGTHEN) > 1.02
    for direction in ("ltr", "rtl"):
        page.evaluate("direction => { document.documentElement.dir = direction }", direction)
        for width in (360, 1280):
            resize(page, width, 800)
            for look in (CLIPPED, OVERLAPPING, TOO_WIDE):
                yield from (f"{direction} {width}: {fault}" for fault in page.evaluate(look))
