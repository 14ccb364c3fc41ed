"""Small filings to parse, and the sections of a document."""

from chat.filings.outline import SectionBlock, in_sections
from chat.filings.parse import parse

BODY = "<p>" + "Ordinary text of the section that goes on for a while. " * 6 + "</p>"
SENTENCE = "The company makes small things and sells them to people who like them. "


def sections(document: str, form: str = "10-K") -> list[SectionBlock]:
    """Return the blocks of one document of a form, each with its section."""
    return in_sections(parse(document)[0], form)


def headed(*headings: str, body: str = BODY, tail: str = "") -> str:
    """Return a document of headings in bold, each with a body, and a tail."""
    items = "".join(f"<p><b>{one}</b></p>{body}" for one in headings)
    return f"<html><body><p>Cover page</p>{items}{tail}</body></html>"


def annual_report(*, extra: str = "", facts: str = "", company: str = "Acme Widgets, Inc.") -> bytes:
    """Return a 10-K of four Items."""
    items = "".join(
        f"<p><b>Item {code}</b></p><p><b>On this</b></p>" + f"<p>{SENTENCE * 6}{code}</p>" * 4
        for code in ("1. Business", "1A. Risk Factors", "2. Properties", "3. Legal Proceedings")
    )
    return (
        f"<html><body>{facts}<p>FORM 10-K</p><p>For the fiscal year ended June 30, 2021</p><p><b>{company}</b></p>"
        f"<p>(Exact name of registrant as specified in its charter)</p>{items}{extra}"
        "<p><b>SIGNATURES</b></p><p>Date: September 1, 2021</p></body></html>"
    ).encode()


def submission(document: bytes) -> bytes:
    """Return a document in its SGML envelope."""
    header = (
        "<SEC-HEADER>\nACCESSION NUMBER:\t\t0000123456-21-000007\nFILED AS OF DATE:\t\t20210903\n"
        "COMPANY CONFORMED NAME:\t\t\tACME WIDGETS, INC.\nCENTRAL INDEX KEY:\t\t\t0000123456\n</SEC-HEADER>\n"
    )
    return f"{header}<DOCUMENT>\n<TYPE>10-K\n<TEXT>\n{document.decode()}\n</TEXT>\n</DOCUMENT>".encode()
