import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
)


@pytest.fixture
def chromium(tmp_path):
    """Opens a local file; `ask` is what Chromium is asked for, such as --dump-dom."""
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    if binary is None:
        pytest.fail("Chromium is not installed: apt-get install -y chromium")

    def opened(page: Path, *ask: str) -> str:
        profile = f"--user-data-dir={tmp_path / 'profile'}"
        done = subprocess.run(
            [binary, *_FLAGS, profile, "--allow-file-access-from-files", *ask, f"file://{page}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout

    return opened


# Headless Chromium's window is never narrower than 500 pixels; a frame is as narrow as it is told to be.
_FRAME = """<!doctype html><body><iframe src="file://{page}" style="width:{width}px;height:2000px;border:0"></iframe><p id="said"></p><script>
window.onload = () => {{
  const page = document.querySelector("iframe").contentDocument;
  for (const details of page.querySelectorAll("details")) details.open = true;
  const root = page.documentElement;
  const hidden = [...page.querySelectorAll("main *")].filter((one) =>
    one.getBoundingClientRect().right > root.clientWidth + 1 && !one.closest(".wb-scroll"));
  document.getElementById("said").textContent =
    `scroll=${{root.scrollWidth}} client=${{root.clientWidth}} beyond=${{hidden.length}} ran=${{typeof page.defaultView.x}}`;
}};
</script>"""


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off_and_nothing_runs(shown, chromium, tmp_path, width):
    frame = tmp_path / "frame.html"
    frame.write_text(_FRAME.format(page=shown.report, width=width), "utf-8")
    dom = chromium(frame, "--dump-dom", f"--window-size={max(width, 500)},2000", "--virtual-time-budget=5000")
    found = re.search(r"scroll=(\d+) client=(\d+) beyond=(\d+) ran=(\w+)", dom)
    assert found, dom[-500:]
    assert int(found[2]) == width
    assert int(found[1]) <= width
    assert found[3] == "0"
    assert found[4] == "undefined"


def test_it_is_drawn(shown, chromium, tmp_path):
    from PIL import Image

    picture = tmp_path / "page.png"
    chromium(shown.report, f"--screenshot={picture}", "--window-size=1280,1600")
    colours = Image.open(picture).convert("RGB").getcolors(1_000_000)
    assert len(colours) > 50
