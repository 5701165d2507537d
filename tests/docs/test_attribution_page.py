import re

from tests.docs.conftest import DOCS
from workbench.attribution.causes import CAUSE_NAMES
from workbench.faultbench.cases import NONE

PAGE = DOCS / "how-to" / "test_an_attribution.md"


def test_the_page_judges_an_attribution(executed):
    names, output = executed(PAGE)
    table, cases = names["table"], names["cases"]
    assert table.to_numpy().sum() == len(cases)
    assert table["failed"].sum() == 0
    assert 40 <= table.loc["rank", "rank"] < table["rank"].sum()
    assert f"of {len(cases)} right" in output


def test_the_page_names_every_cause_in_order():
    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE) == [*CAUSE_NAMES, NONE]
