"""Five Markdown pages and six questions: a page that repeats itself, and one that tries to be markup."""

import json
import re
from pathlib import Path

PAGES = {
    "boats": "# Boats\n\nThe harbour holds forty boats.\n\n## Mooring\n\nA mooring costs nine euros a night. Pay at the kiosk before noon, or the "
    "warden doubles the fee.\n\n## Fuel\n\nFuel is sold on Tuesdays only, at the north pier, between eight and eleven in the morning.",
    "bread": "# Bread\n\nMix flour, water, salt and yeast.\n\n## Proving\n\nLet the dough rest for fourteen hours in a cool cellar.\n\n"
    "## Baking\n\nBake at two hundred and thirty degrees until the crust sounds hollow when it is knocked.",
    "bees": "# Bees\n\nA hive swarms in May.\n\n## Feeding\n\nFeed two litres of syrup in September. Never feed honey from another apiary: it "
    "carries foulbrood.\n\n## Winter\n\nWrap the hive when frost comes and do not open it before March.",
    "attack": "# Notes\n\nThis page is <script>window.x=1</script> not to be run, and shows <img src=http://evil.example/a.png "
    "onerror=window.x=2> nothing. The password of the guest network is heron seventeen.\n\n</mark></td></table><h1>Injected</h1>",
    "repeats": "Opening hours are nine to five.\n\nOpening hours are nine to five.\n\nOpening hours are nine to five.",
}
QUESTIONS = [
    ("How much is a mooring?", "boats", "A mooring costs nine euros a night."),
    ("When can I buy fuel?", "boats", "Fuel is sold on Tuesdays only, at the north pier, between eight and eleven in the morning."),
    ("How long does dough rest?", "bread", "Let the dough rest for fourteen hours in a cool cellar."),
    ("Which honey must bees not get?", "bees", "Never feed honey from another apiary: it carries foulbrood."),
    ("What is the guest password?", "attack", "<script>window.x=1</script> not to be run, and shows <img src=http://evil.example/a.png"),
    ("When are you <b>open</b>?", "repeats", "Opening hours are nine to five."),
]


def write_dataset(folder: Path, evidence: bool) -> Path:
    (folder / "documents").mkdir(parents=True)
    for name, text in PAGES.items():
        (folder / "documents" / f"{name}.md").write_text(text, "utf-8")
    rows = []
    for number, (query, doc_id, span) in enumerate(QUESTIONS):
        found = [match.span() for match in re.finditer(re.escape(span), PAGES[doc_id])]
        need = [{"doc_id": doc_id, "start": start, "end": end} for start, end in found]
        row = {"query_id": f"q{number}", "query": query, "relevant_doc_ids": [doc_id], "answer": span[:20]}
        rows.append(row | ({"evidence": [need]} if evidence else {}))
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder
