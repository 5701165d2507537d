"""Runs with judged claims made in Python, whose true verdicts are known, so that a made person can label them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.core.schemas import SCHEMAS
from workbench.report.results.run_tables import RunTables

CLAIMS = 2


def with_claims(run: RunTables, sensitivity: float = 0.9, alarms: float = 0.25, unparsed: float = 0.05, verdicts: bool = True) -> RunTables:
    """Return a run with answers as if a judge had verified two claims of each answer under `retrieved`."""
    rng = np.random.default_rng(0)
    answers = run.answers[(run.answers["condition"] == "retrieved") & (run.answers["error"] == "") & ~run.answers["refused"]]
    rows = []
    for answer in answers.to_dict("records"):
        for number in range(CLAIMS):
            claim = f"{answer['query_id']} claim {number} of {answer['configuration']} in {answer['repeat']}"
            good = is_true(claim)
            yes = rng.random() < (sensitivity if good else alarms)
            failed = rng.random() < unparsed
            rows.append(
                {key: answer[key] for key in ("configuration", "condition", "variant", "repeat", "query_id")}
                | {
                    "number": number,
                    "claim": claim,
                    "start": 0,
                    "end": 5,
                    "passage": int(rng.integers(0, 3)) if yes else -1,
                    "chunk_id": "",
                }
                | {"verdict": "" if failed or not verdicts else "supported" if yes else "absent", "flags": "[]", "quote": ""}
                | {"score": np.nan if failed else float(np.clip(0.3 + 0.4 * yes + rng.normal() * 0.05, 0, 1)), "confidence": 0.9}
                | {"evidence_start": -1, "evidence_end": -1, "judge": "made", "error": "the reply has no verdict" if failed else ""}
            )
    whole = SCHEMAS["claims"].conform(pd.DataFrame(rows))
    return replace(run, sources={**run.sources, "claims": lambda _: whole})


def is_true(claim: str) -> bool:
    """Whether a made claim is true: about 5 of 6 are."""
    return sum(map(ord, claim)) % 6 != 0


def label_all(path: Path, annotator: str = "made", wrong: int = 0) -> int:
    """Fill in every label of a file, every `wrong`-th one falsely, and return their number."""
    rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    for place, row in enumerate(rows):
        true = is_true(row["claim"]) != bool(wrong and place % wrong == 0)
        row |= {"label": "supported" if true else "absent", "annotator": annotator}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return len(rows)
