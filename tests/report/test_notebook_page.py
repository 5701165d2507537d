import re

import pytest

from workbench.report.render.notebook_page import clean, section


@pytest.mark.parametrize(
    "attack",
    [
        "<script>window.x=1</script>",
        "<img src=http://evil onerror=alert(1)>",
        '<a href="javascript:alert(1)">x</a>',
        '<a href="data:text/html,<script>1</script>">x</a>',
        '<img src="data:image/svg+xml,<svg onload=alert(1)>">',
        '<p style="background:url(http://evil)">x</p>',
        "<svg><script>1</script></svg>",
        "<style>p{background:url(http://evil)}</style>",
        "<iframe src=http://evil></iframe>",
        '<p class="alert">x</p>',
        "<meta http-equiv=refresh content='0;url=http://evil'>",
    ],
)
def test_cleaning_leaves_nothing_that_acts_or_loads(attack):
    cleaned = clean(attack)
    assert not re.search(r"evil|javascript|alert|onerror|onload|script|style|svg|meta", cleaned)


def test_cleaning_keeps_what_is_ours():
    ours = '<div class="wb"><mark class="wb-missed">x</mark><img src="data:image/png;base64,aGk=" alt="hi" width="576"></div>'
    assert clean(ours) == ours


def test_a_notebook_becomes_a_section_without_its_code(shown):
    found = section("Comparison", shown.folder / "notebooks" / "comparison.ipynb", 2)
    assert found.headings
    assert "open_comparison" not in found.body
    assert "run_id" not in found.body
    assert "recorded:" not in found.body
    assert '<h2 id="notebook-Comparison-1">' in found.body
    assert "<script" not in found.body
