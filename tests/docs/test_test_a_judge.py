"""docs/known_answers.md, executed."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "known_answers.md").read_text("utf-8")


def test_the_page_refuses_a_scorer_that_counts_words(capsys):
    (snippet,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names = {}
    exec(snippet, names)
    found = names["found"]
    assert found.unscored == 0
    assert len(found.rows) == 96
    assert "not a judge: " in capsys.readouterr().out
