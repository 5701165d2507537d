"""The documentation as a site: every page is there, and a dead link fails the build."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.conftest import PAGES, ROOT

pytestmark = pytest.mark.slow


def build(checkout: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / "docs/site.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_the_site_has_every_page_and_asks_no_other_server(site: Path) -> None:
    assert {(site / page.relative_to(ROOT)).with_suffix(".html") for page in PAGES} <= set(site.rglob("*.html"))
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|link)\b[^>]*?(?:src|href)=\"(https?:[^\"]+)", page.read_text("utf-8"))
        assert not loaded, page


def test_the_search_finds_words_of_the_pages(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    assert "docs/statistics" in index
    assert "satterthwait" in index


def test_a_dead_link_or_anchor_fails_the_build(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "docs").mkdir(parents=True)
    for name in ("site.py", "README.md"):
        (checkout / "docs" / name).write_text((ROOT / "docs" / name).read_text("utf-8") if name == "site.py" else "# Docs\n", "utf-8")
    for text, code in (("[a](docs/README.md#docs)", 0), ("[a](docs/gone.md)", 1), ("[a](docs/README.md#gone)", 1)):
        (checkout / "README.md").write_text(f"# Home\n\n{text}\n", "utf-8")
        assert build(checkout, tmp_path / "build").returncode == code, text
