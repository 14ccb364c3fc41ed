# ruff: noqa: SIM905 - long word lists read best as text
"""Find code that could let private text out: a reading of the syntax tree, for ``test_privacy_lint``.

What is private by name: whatever is called after the scratchpad, whatever is annotated, made or tested to be a
``Scratchpad``. A practical rule and no proof; the type itself refuses the rest (``reasoning/scratchpad.py``).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

PRIVATE_EXTRAS = frozenset(
    "text answer thinking thought prompt arguments args output content question summary title snippet quote message"
    " body reasoning scratchpad error_message".split()
)
_LOG_METHODS = frozenset("debug info warning warn error exception critical fatal log".split())
_LOGGERS = frozenset("logger log logging".split())
_WRITERS = frozenset(
    "print str repr format ascii vars dumps dump dumpb encode seal create acreate update aupdate save asave bulk_create"
    " abulk_create bulk_update get_or_create aget_or_create update_or_create aupdate_or_create send group_send"
    " async_to_sync setdefault write writelines send_json send_mail".split()
)
_STORES = frozenset("cache session".split())
_STORING = frozenset("set aset add aadd set_many aset_many get_or_set update setdefault append".split())
_REVEALERS = frozenset({"accounts/scratchpad.py", "chat/page.py"})
_GRANT_MAKER = "accounts/scratchpad.py"
_HOME = "reasoning/scratchpad.py"


@dataclass(frozen=True, slots=True)
class Fault:
    """One place that breaks a rule."""

    file: str
    function: str
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function or '<module>'}: {self.rule}"


def faults(source: str, file: str, allowed: Mapping[tuple[str, str], str]) -> list[Fault]:
    """Return what breaks a rule in one file, in the order of its lines.

    ``allowed`` holds, by file and function, the reason for which a scratchpad may be an argument there; it permits
    handing one on, never a writer.
    """
    tree = ast.parse(source)
    reader = _Reader(file, allowed, _private_attributes(tree))
    reader.visit(tree)
    return sorted(reader.found, key=lambda fault: fault.line)


class _Reader(ast.NodeVisitor):
    def __init__(self, file: str, allowed: Mapping[tuple[str, str], str], private: set[str]) -> None:
        self.file = file
        self.found: list[Fault] = []
        self._allowed = allowed
        self._functions: list[str] = []
        self._private = [private]

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._functions.append(node.name)
        self._private.append(self._private[-1] | _private_locals(node))
        self.generic_visit(node)
        self._private.pop()
        self._functions.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the name that NodeVisitor looks for

    def visit_If(self, node: ast.If) -> None:
        """Inside ``if isinstance(x, Scratchpad)``, ``x`` is private."""
        self.visit(node.test)
        self._private.append(self._private[-1] | _narrowed(node.test))
        for child in node.body:
            self.visit(child)
        self._private.pop()
        for child in node.orelse:
            self.visit(child)

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node.func)
        if name == "reveal" and self.file not in _REVEALERS and not self._is_allowed():
            self._report(node, "reveals outside the gate")
        is_writer = name in _WRITERS or _is_log_call(node) or (name in _STORING and _receiver(node) in _STORES)
        if is_writer and any("scratchpad" in (keyword.arg or "") for keyword in node.keywords):
            self._report(node, f"gives a scratchpad to {name}")
        elif any(self._is_private(argument) for argument in _arguments(node)):
            if is_writer:
                self._report(node, f"gives a scratchpad to {name}")
            elif not self._is_allowed():
                self._report(node, f"hands a scratchpad to {name}")
        if _is_log_call(node):
            for problem in _log_problems(node):
                self._report(node, problem)
        self.generic_visit(node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        if self._is_private(node.value):
            self._report(node, "formats a scratchpad")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Mod) and _is_text(node.left) and self._is_private(node.right):
            self._report(node, "formats a scratchpad")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        stores = [target for target in node.targets if isinstance(target, ast.Subscript)]
        if any(_name(target.value) in _STORES for target in stores) and self._is_private(node.value):
            self._report(node, "keeps a scratchpad in the session")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._check_key(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._check_key(node, node.attr)
        self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._check_key(node, alias.name)

    def _check_key(self, node: ast.AST, word: str) -> None:
        if word == "GRANT_KEY" and self.file not in (_GRANT_MAKER, _HOME):
            self._report(node, "takes the key of grants")

    def _is_private(self, node: ast.AST) -> bool:
        return any(
            "scratchpad" in word.lower() or ast.dump(part) in self._private[-1]
            for part in ast.walk(node)
            if (word := _word(part)) is not None
        )

    def _is_allowed(self) -> bool:
        return (self.file, self._functions[-1] if self._functions else "") in self._allowed

    def _report(self, node: ast.AST, rule: str) -> None:
        self.found.append(Fault(self.file, ".".join(self._functions), getattr(node, "lineno", 0), rule))


def _private_attributes(tree: ast.AST) -> set[str]:
    """Return the attributes that are annotated as holding scratchpads, whatever their names."""
    annotated = [node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    found = [node.target for node in annotated if _mentions_type(node.annotation)]
    return {_as_read(target) for target in found if isinstance(target, ast.Attribute)}


def _private_locals(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names in a function that are annotated as a scratchpad, matched as one, or made from one."""
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = {argument.arg for argument in every if argument.annotation and _mentions_type(argument.annotation)}
    for node in ast.walk(function):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind) if _mentions_type(kind):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=made)) if _mentions_type(made):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if "scratchpad" in _name(value).lower():
                names.add(name)
            case ast.MatchAs(pattern=ast.MatchClass(cls=kind), name=str(name)) if _mentions_type(kind):
                names.add(name)
    return {_as_read(ast.Name(id=name)) for name in names}


def _as_read(node: ast.Name | ast.Attribute) -> str:
    """Return the form by which the same name is known where its value is taken."""
    if isinstance(node, ast.Name):
        return ast.dump(ast.Name(id=node.id, ctx=ast.Load()))
    return ast.dump(ast.Attribute(value=node.value, attr=node.attr, ctx=ast.Load()))


def _mentions_type(node: ast.AST) -> bool:
    return any(_word(part) == "Scratchpad" or _is_quoted_type(part) for part in ast.walk(node))


def _is_quoted_type(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and "Scratchpad" in re.findall(r"\w+", str(node.value))


def _narrowed(test: ast.expr) -> set[str]:
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[tested, kind]) if _mentions_type(kind):
            return {ast.dump(tested)}
    return set()


def _arguments(node: ast.Call) -> Iterator[ast.expr]:
    if _name(node.func) != "isinstance":
        yield from node.args
        yield from (keyword.value for keyword in node.keywords)


def _is_log_call(node: ast.Call) -> bool:
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in _LOG_METHODS:
        return False
    return _name(func.value).lstrip("_").lower() in _LOGGERS or "getLogger" in ast.dump(func.value)


def _log_problems(node: ast.Call) -> Iterator[str]:
    """Yield why a record might carry text: it must be a constant, class names, and named ids and counts beside it."""
    said = node.args[1:] if _name(node.func) == "log" else node.args
    if not said or not _is_text(said[0]):
        yield "logs a message that is no constant"
    if not all(_is_class_name(argument) for argument in said[1:]):
        yield "logs an argument that is no class's name"
    for keyword in node.keywords:
        if keyword.arg == "extra":
            yield from _extra_problems(keyword.value)
        elif keyword.arg != "exc_info":
            yield f"logs with {keyword.arg}"


def _extra_problems(extra: ast.expr) -> Iterator[str]:
    if not isinstance(extra, ast.Dict) or not all(isinstance(key, ast.Constant) for key in extra.keys):
        yield "logs extra that is not spelled out"
        return
    for key, value in zip(extra.keys, extra.values, strict=True):
        if isinstance(key, ast.Constant) and str(key.value) in PRIVATE_EXTRAS:
            yield f"logs {key.value}"
        elif any(_word(part) in PRIVATE_EXTRAS for part in ast.walk(value)):
            yield "logs private text under another name"


def _is_class_name(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="type")), attr="__name__"):
            return True
    return False


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _receiver(node: ast.Call) -> str:
    return _name(node.func.value) if isinstance(node.func, ast.Attribute) else ""


def _name(node: ast.AST) -> str:
    return _word(node) or ""


def _word(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word):
            return word
    return None
