from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from nbrewind.ui.page import Page, Tone
from nbrewind.ui.render import to_bundle, to_html, to_plain

ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</td></table><iframe src=javascript:alert(1)>",
    "javascript:alert(1)",
    "&lt;script&gt;",
    "<a href='https://example.org'>x</a>",
    "style=background:url(x)",
)


class Reader(HTMLParser):
    """Collects what a browser would make of the text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def page_of(text: str) -> Page:
    page = Page()
    for tone in Tone:
        page.say(text, tone, 1)
    page.list([text])
    return page.table([(text, text)], heads=(text, "b"), tones=[Tone.PROBLEM])


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def test_attacks_stay_text():
    for attack in ATTACKS:
        reader = read(to_html(page_of(attack)))

        assert reader.tags <= {"div", "table", "tr", "th", "td"}
        assert reader.attributes <= {"class", "style"}
        assert attack in reader.text


@given(st.text(alphabet=st.characters(blacklist_categories=()), max_size=50))
def test_any_text_gives_only_our_own_tags_and_can_be_encoded(text):
    bundle = to_bundle(page_of(text))

    reader = read(bundle["text/html"])
    assert reader.tags <= {"div", "table", "tr", "th", "td"}
    assert reader.attributes <= {"class", "style"}
    for form in bundle.values():
        form.encode("utf-8")
    assert all(line.isprintable() for line in bundle["text/plain"].split("\n"))


def test_tables_are_aligned_in_plain_text():
    page = Page().table([("[1]", "x = 1", "12:00"), ("[12]", "y", "12:01")], heads=("n", "code", "time"))

    assert to_plain(page) == "n     code   time\n[1]   x = 1  12:00\n[12]  y      12:01"


def test_long_lists_say_how_many_are_left_out():
    page = Page().list([str(number) for number in range(30)], most=20)

    assert len(page.parts) == 21
    assert "10 more" in to_plain(page)
    assert len(Page().list(["a"] * 21, most=20).parts) == 21
    assert len(Page().list(["a"] * 500).parts) == 500


def test_empty_tables_are_left_out():
    assert Page().table([]).parts == []
    assert to_plain(Page()) == ""
