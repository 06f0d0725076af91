"""Parse web pages into trees of elements, and fail if tags do not match."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_ALONE = {"meta", "link", "br", "input", "img"}


@dataclass
class Element:
    """Hold an element of a page, with its attributes, children and texts."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """Return every element with this tag, in order."""
        return [e for c in self.children for e in ([c] if c.tag == tag else []) + c.all(tag)]

    def one(self, tag: str) -> Element:
        """Return the only element with this tag."""
        (found,) = self.all(tag)
        return found

    @property
    def text(self) -> str:
        """Return the text in the element and in its children, in order."""
        return "".join(self.texts)

    def rows(self) -> list[list[str]]:
        """Return the texts of the cells of a table's body, row by row."""
        body = self.one("tbody")
        return [[cell.text for cell in row.all("td")] for row in body.all("tr")]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in _ALONE:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        closed = self.open.pop()
        assert closed.tag == tag, f"<{closed.tag}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.texts.append(data)


def read_page(html: str) -> Element:
    """Parse a page or a fragment of one, and return its root element."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.open) == 1, f"<{reader.open[-1].tag}> is never closed"
    return reader.open[0]
