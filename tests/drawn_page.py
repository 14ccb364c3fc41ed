"""A conversation's page changed by frames as htmx and ``frames.js`` do it, without a browser."""

import json
import re
from html import escape
from typing import Any

import lxml.html
from lxml.html import HtmlElement

from tests.frame_words import redrawn

_LIVE_PARTS = ("head", "answer", "steps", "approval", "thinking-label")
_PARTS = (*_LIVE_PARTS, "sources", "actions", "notice", "points", "trace-label", "question-tools")
_MOVING = ("hx-swap-oob", "data-n", "data-elapsed", "aria-busy")


class DrawnPage:
    def __init__(self, html: str) -> None:
        self._root = lxml.html.document_fromstring(html)
        self._open_ids = {False: "", True: ""}  # of the open block, and of the one beside it
        self._open: dict[str, tuple[str, str]] = {}  # by id: HTML up to the tip and behind it

    @property
    def newest(self) -> dict[str, str]:
        """The newest answer, and how those in its place are shown, as the page names them when it connects."""
        cards = self._root.xpath("//*[@id='messages']//*[@data-role='assistant' and not(@data-beside)]")
        if not cards:
            return {"last": "", "status": ""}
        second = cards[-1].getnext()
        beside = {} if second is None or second.get("data-status") is None else {"beside": second.get("data-status")}
        return {"last": cards[-1].get("data-message-id", ""), "status": cards[-1].get("data-status", ""), **beside}

    def apply(self, frame: str) -> None:
        """Apply a frame to the page."""
        if frame.startswith("{"):
            self._apply_json(json.loads(frame))
            return
        for element in lxml.html.fragments_fromstring(frame):
            if not isinstance(element, str) and (how := element.get("hx-swap-oob")):
                self._swap(element, how)

    def state(self) -> dict[str, Any]:
        """Return what the page shows: its cards with their parts, whether a turn runs, and what is queued."""
        by_id = {element.get("id"): element for element in self._root.iter() if element.get("id")}
        state: dict[str, Any] = {"cards": [card.get("id") for card in by_id["messages"].iter("article")]}
        state["compared"] = by_id["messages"].xpath(".//*[@class='comparison']//article/@id")
        for card in by_id["messages"].iter("article"):
            name = card.get("id", "")
            status = state[f"{name} status"] = card.get("data-status")
            names = _LIVE_PARTS if status == "streaming" else _PARTS
            state |= {f"{name}-{part}": _text(by_id.get(f"{name}-{part}")) for part in names}
            if status is None:
                state[name] = _text(card)
            if status == "streaming":
                status_text = by_id[f"{name}-status"].find("span")
                state[f"{name} says"] = (status_text.text or "").strip()
        stop, picker = self._root.find(".//*[@data-stop]"), by_id.get("model-pick")
        chosen = picker.xpath("option[@selected]") if picker is not None else []
        state |= {"title": _words_in(by_id.get("title")), "model": _words_in(chosen[0] if chosen else picker)}
        switches = self._root.xpath("//*[@data-toggle='show-scratchpad']/@aria-checked")
        state |= {"scratchpad": switches, "panels": len(self._root.xpath("//*[@data-scratchpad]"))}
        state |= {"queue": _text(by_id.get("queue")), "running": stop is not None and stop.get("hidden") is None}
        if not state["running"]:  # the meter of an open page changes when its turn ends
            state["context"] = _words_in(by_id.get("context"))
        return state

    def _apply_json(self, form: dict[str, Any]) -> None:
        match form["type"]:
            case "block":
                self._redraw(form)
            case "text" | "thinking":
                self._add_text(form)
            case "card" if "status" in form:
                card = self._by_id(f"m-{form['card']}")
                if card is not None:
                    card.set("data-status", form["status"])
                    for thinking in card.xpath(".//*[@data-token-est]"):
                        thinking.set("data-token-est", str(form["tokensEst"]))
                    if form["status"] != "streaming":
                        _prune(card)
            case "title":
                title = self._by_id("title")
                assert title is not None
                _empty(title)
                title.text = form["title"]
            case "switch":
                self._set_switch(form)
            case "model":
                self._take_model(form)
            case "turn":
                stop = self._root.find(".//*[@data-stop]")
                assert stop is not None
                stop.attrib.pop("hidden", None)
                if not form["running"]:
                    stop.set("hidden", "")

    def _add_text(self, form: dict[str, Any]) -> None:
        open_id = self._open_ids[form.get("beside", False)]
        element = self._by_id(form.get("id", open_id))
        if element is None:
            return
        if form["n"] == 0:
            _empty(element)
        else:
            assert form["n"] == int(element.get("data-n", "0")) + 1, "a piece is missing"
        element.set("data-n", str(form["n"]))
        if element.get("class") != "open-block":
            element.text = (element.text or "") + form["text"]
            return
        html, end = self._open[open_id]
        self._open[open_id] = (html + escape(form["text"], quote=False), end)
        tip = element.xpath(".//*[@class='tip']")[0]
        before = tip.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + form["text"]
        else:
            tip.getparent().text = (tip.getparent().text or "") + form["text"]

    def _redraw(self, form: dict[str, Any]) -> None:
        """Draw the open block again: the HTML that the page has, up to a place, and what follows it now."""
        is_beside = form.get("beside", False)
        open_id = self._open_ids[is_beside] = form.get("id", self._open_ids[is_beside])
        element = self._by_id(open_id)
        if element is None:
            return
        known, end = self._open.get(open_id, ("", ""))
        assert not form.get("same") or form["n"] in (0, int(element.get("data-n", "0")) + 1), "a piece is missing"
        done, html = redrawn(known, form)
        self._open[open_id] = html, (end := form.get("end", end))
        for child in lxml.html.fragment_fromstring(done, create_parent="div"):
            element.addprevious(child)
        _empty(element)
        tip = '<span class="tip"></span>'
        element.extend(lxml.html.fragment_fromstring(f"{html}{tip}{end}", create_parent="div"))
        element.set("data-n", str(form["n"]))

    def _set_switch(self, form: dict[str, Any]) -> None:
        for button in self._root.xpath("//*[@data-toggle=$name]", name=form["name"]):
            button.set("aria-checked", str(form["on"]).lower())
            if not form["possible"]:
                button.getparent().drop_tree()

    def _take_model(self, form: dict[str, Any]) -> None:
        picker = self._by_id("model-pick")
        assert picker is not None
        if picker.tag == "select":
            for option in picker.iter("option"):
                option.attrib.pop("selected", None)
                if option.get("value") == form["model"]:
                    option.set("selected", "")
        else:
            picker[0].text = form["label"]

    def _swap(self, element: HtmlElement, how: str) -> None:
        style, _colon, selector = how.partition(":")
        target = self._by_id(selector.removeprefix("#") or element.get("id", ""))
        if target is None:
            return
        parent = target.getparent()
        assert parent is not None
        if style == "delete":
            target.drop_tree()
        elif style in ("outerHTML", "true"):
            element.tail = target.tail
            parent.replace(target, element)
        elif style == "innerHTML":
            _empty(target)
            target.text = element.text
            target.extend(list(element))
        elif style == "beforeend":
            for card in element.iter("article"):  # drawn again: frames.js removes the older one
                if (known := self._by_id(card.get("id", ""))) is not None:
                    ([*known.xpath("ancestor::*[@class='comparison']"), known])[0].drop_tree()
            target.extend(list(element))
        elif style == "beforebegin":
            for child in list(element):
                target.addprevious(child)
        elif style == "afterbegin":
            for child in reversed(list(element)):
                target.insert(0, child)
        else:
            raise AssertionError(how)

    def _by_id(self, name: str) -> HtmlElement | None:
        found = self._root.xpath("//*[@id=$name]", name=name)
        return found[0] if found else None


def _prune(card: HtmlElement) -> None:
    """Remove the empty panels of a finished card, as ``frames.js`` does."""
    for fold in card.xpath(".//*[contains(@class, 'disclosure')]"):
        steps = fold.xpath(".//*[contains(@class, 'steps')]")
        is_empty = fold.get("data-token-est") == "0" or (steps and not len(steps[0]))
        if is_empty and fold.getparent() is not None:
            fold.drop_tree()


def _empty(element: HtmlElement) -> None:
    for child in list(element):
        element.remove(child)
    element.text = None


def _text(element: HtmlElement | None) -> str:
    """Return an element's markup without what differs from one moment to the next."""
    if element is None or not (element.text_content().strip() or len(element)):
        return ""
    copy = lxml.html.fromstring(lxml.html.tostring(element, encoding="unicode", with_tail=False))
    for each in copy.iter():
        for name in _MOVING:
            each.attrib.pop(name, None)
    for token in copy.xpath("//input[@name='csrfmiddlewaretoken']"):
        token.drop_tree()
    return re.sub(r"\s+", " ", re.sub(r">\s+<", "><", lxml.html.tostring(copy, encoding="unicode"))).strip()


def _words_in(element: HtmlElement | None) -> str:
    return " ".join(element.text_content().split()) if element is not None else ""
