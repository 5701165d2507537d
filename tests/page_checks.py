"""What a page in Chromium says, asks for and shows to everybody: its console, its requests, and axe-core's findings."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

# make browser fetches it into the environment.
AXE = Path(os.environ.get("WORKBENCH_AXE", Path(sys.prefix) / "axe" / "package" / "axe.min.js"))


@dataclass
class Traffic:
    """What a page wrote into its console and which of its requests failed or went elsewhere."""

    errors: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    @property
    def complaints(self) -> list[str]:
        """Return everything that a page should not do."""
        return [*self.errors, *self.failed, *(f"asked {url}" for url in self.elsewhere)]

    def watch(self, page: "Page") -> None:
        """Listen to a page from now on."""
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: None if is_local(request.url) else self.elsewhere.append(request.url))
        page.on("websocket", lambda channel: None if is_local(channel.url) else self.elsewhere.append(channel.url))
        page.on("requestfailed", lambda request: self._fail(request.url, str(request.failure)))
        page.on("response", lambda response: self._fail(response.url, str(response.status)) if response.status >= 400 else None)

    def _fail(self, url: str, reason: str) -> None:
        # A page that is left or reloaded aborts what it was asking.
        if "ERR_ABORTED" not in reason:
            self.failed.append(f"{reason}: {url}")


def is_local(url: str) -> bool:
    """Return whether a request stays in the browser or on the loopback."""
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob", "about", "file") or parts.hostname == "127.0.0.1"


def beyond(page: "Page") -> list[str]:
    """Return the elements that reach beyond the window or the sheet, apart from those in a frame that scrolls, which no sheet does."""
    ask = """() => {
        const scrolls = (one) => one && (["auto", "scroll"].includes(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
        return [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && one.checkVisibility()
            && !one.closest(".unseen") && (matchMedia("print").matches || !scrolls(one.parentElement))).map((one) => one.outerHTML.slice(0, 120));
    }"""
    found: list[str] = page.evaluate(ask)
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [*found, *(["the page scrolls sideways"] if wide else [])]


def serious(page: "Page", within: str = "html") -> list[Any]:
    """Return axe-core's serious and critical findings as (id, example)."""
    if not AXE.is_file():
        pytest.fail(f"axe-core is not at {AXE}: make browser fetches it")
    # Over the developer tools, which the page's policy does not bind.
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": AXE.read_text("utf-8")})
    ask = """(within) => axe.run(within).then((done) => [done.passes.length,
        done.violations.map((one) => [one.impact, one.id, one.nodes[0].html])])"""
    passed, violations = page.evaluate(ask, within)
    assert passed > 20 or within != "html", "axe-core checked next to nothing"
    assert passed, "axe-core checked nothing"
    return [(name, example) for impact, name, example in violations if impact in ("serious", "critical")]
