"""docs/planted_faults.md, executed."""

import re
from pathlib import Path

from workbench.attribution.causes import CAUSE_NAMES
from workbench.faultbench.cases import NONE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "planted_faults.md").read_text("utf-8")


def test_the_page_judges_an_attribution(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    first, second = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names = {}
    exec(first, names)
    exec(second, names)
    table, cases = names["table"], names["cases"]
    assert table.to_numpy().sum() == len(cases)
    assert table["failed"].sum() == 0
    assert 40 <= table.loc["rank", "rank"] < table["rank"].sum()
    assert f"of {len(cases)} right" in capsys.readouterr().out


def test_the_page_names_every_cause_in_order():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == [*CAUSE_NAMES, NONE]
