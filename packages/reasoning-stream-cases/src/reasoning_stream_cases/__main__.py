"""List the cases: their ids, rules and deltas, and what a parser must make of them."""

import argparse
import json
from typing import Any

from reasoning_stream_cases import CASES, RULES, __version__, read_document


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reasoning_stream_cases", description=__doc__)
    parser.add_argument("--group", choices=sorted({case.group for case in CASES}), help="cases of this group alone")
    parser.add_argument("--rule", choices=RULES, metavar="RULE", help="cases of this rule alone")
    parser.add_argument("--rules", action="store_true", help="list the rules instead")
    parser.add_argument("--json", action="store_true", help="print JSON, one case a line, in the form of cases.json")
    parser.add_argument("--version", action="version", version=__version__)
    options = parser.parse_args()

    if options.rules:
        for rule, text in RULES.items():
            print(json.dumps({rule: text}) if options.json else f"{rule}: {text}")
        return
    for case in read_document()["cases"]:
        if options.group in (None, case["group"]) and (options.rule is None or options.rule in case["rules"]):
            print(json.dumps(case) if options.json else _summary(case))


def _summary(case: dict[str, Any]) -> str:
    """Return a case as a paragraph, in ASCII: texts may have characters that no terminal shows."""
    expected = {key: case[key] for key in ("answer", "thinking", "scratchpads") if key in case}
    options = {key: case[key] for key in ("starts_in_reasoning", "format") if key in case}
    lines = [f"{case['id']} ({', '.join(case['rules'])})"]
    lines += [f"  {name}: {json.dumps(value)}" for name, value in [("deltas", case["deltas"]), *expected.items()]]
    lines += [f"  with {name}: {json.dumps(value)}" for name, value in options.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
