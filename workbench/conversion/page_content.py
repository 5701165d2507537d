"""The content of a web page, without its navigation, its footer and what it hides, by the elements and roles of HTML that say so."""

import re
from collections import Counter
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag

from workbench.conversion.converted import UnreadableFileError

# Parts of a page around its content, as elements and as roles of ARIA.
_AROUND = frozenset(("nav", "footer"))
_AROUND_ROLES = frozenset(("navigation", "contentinfo", "search", "banner", "complementary", "dialog", "alertdialog", "menu", "menubar"))
# Not shown, or only by browsers without scripts.
_NOT_SHOWN = frozenset(("template", "noscript"))
_CONTENT = frozenset(("main", "article"))
_INVISIBLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
# Links of headings to themselves.
_PERMALINKS = frozenset("¶#§🔗")
_REDIRECTS = re.compile(r"\s*\d*\s*[;,]\s*url\s*=", re.IGNORECASE)
# A page that redirects says little else. A main element with less of the page's text is not its content.
_STUB, _LEAST_SHARE = 400, 0.1


def content_of(soup: BeautifulSoup, unread: Counter[str]) -> Tag:
    """Return the element with the content of a page, from which the rest is removed. The hidden parts are counted in `unread`.

    Raises UnreadableFileError for a page that only redirects.
    """
    if _redirects(soup) and length(soup.body or soup) < _STUB:
        raise UnreadableFileError("only redirects to another page")
    everything = length(soup)
    for tag in list(_removed(soup)):
        if not tag.decomposed:
            unread["hidden part"] += _is_hidden(tag) and bool(tag.get_text(strip=True))
            tag.decompose()
    # The whole page is better than nothing. A caller with nothing left reads it again.
    main = _main(soup)
    return main if main is not None and length(main) >= _LEAST_SHARE * everything else soup


def _main(soup: BeautifulSoup) -> Tag | None:
    """Return the only main element, or the only article."""
    for found in (soup.find_all(_is_main), soup.find_all("article")):
        outer = [tag for tag in found if isinstance(tag, Tag)]
        if len(outer) == 1:
            return outer[0]
    return None


def _is_main(tag: Tag) -> bool:
    return tag.name == "main" or tag.get("role") == "main"


def _redirects(soup: BeautifulSoup) -> bool:
    metas = (tag for tag in soup.find_all("meta") if isinstance(tag, Tag) and str(tag.get("http-equiv", "")).lower() == "refresh")
    return any(_REDIRECTS.match(str(tag.get("content", ""))) for tag in metas)


def _removed(soup: BeautifulSoup) -> Iterator[Tag]:
    for tag in soup.find_all(True):
        if isinstance(tag, Tag) and (_is_hidden(tag) or _is_around(tag) or _is_permalink(tag)):
            yield tag


def _is_hidden(tag: Tag) -> bool:
    hidden = tag.get("hidden")
    # A browser finds the text of "until-found", which opens when it is searched for.
    return (
        tag.name in _NOT_SHOWN
        or (hidden is not None and str(hidden).lower() != "until-found")
        or str(tag.get("aria-hidden", "")).lower() == "true"
        or bool(_INVISIBLE.search(str(tag.get("style", ""))))
    ) and tag.name not in ("html", "body")


def _is_around(tag: Tag) -> bool:
    role = str(tag.get("role", "")).lower()
    if tag.name == "aside":
        # Inside of the content it is a remark.
        return not any(_is_main(parent) or parent.name in _CONTENT for parent in tag.parents)
    return (tag.name in _AROUND and tag.find_parent("blockquote") is None) or (role in _AROUND_ROLES and tag.find("h1") is None)


def _is_permalink(tag: Tag) -> bool:
    return tag.name == "a" and str(tag.get("href", "")).startswith("#") and tag.get_text().strip() in _PERMALINKS


def length(tag: Tag) -> int:
    """Return how many characters the text of an element has, without blanks."""
    return len("".join(tag.get_text().split()))
