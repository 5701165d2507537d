"""Compare the verdicts of claims that are judged together with those of claims judged one by one, by a local model that replies in JSON.

`WORKBENCH_GGUF=model.gguf python -m benchmarks.grouped_claims` judges the claims of the self-test that share a document, four in a call and each
alone. Each call is printed when it is made, so that an interrupted run is a smaller sample.
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.components.answering.base import AnswerResources
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.judging.base import Judgement, JudgeRequest
from workbench.components.judging.prompted import LocalJudge
from workbench.components.judging.self_test import FaithfulnessCase, faithfulness_cases
from workbench.core.records import Passage
from workbench.llm.session import CallResources

DOCUMENTS, TOGETHER = 12, 4


def run() -> dict[str, Any]:
    """Judge the claims of twelve documents, together and alone, and return how often the verdicts are equal."""
    path = os.environ["WORKBENCH_GGUF"]
    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    judge = LocalJudge(path=path, threads=threads, context_window=2048, replies="json", max_tokens=160)
    grouped = judge.model_copy(update={"claims_per_call": TOGETHER})
    documents: dict[str, list[FaithfulnessCase]] = {}
    for case in faithfulness_cases():
        documents.setdefault(case.context, []).append(case)
    whole = [cases[:TOGETHER] for cases in documents.values() if len(cases) >= TOGETHER][:DOCUMENTS]
    pairs: list[tuple[Judgement, Judgement]] = []
    for cases in whole:
        together, alone = _judged(grouped, cases), _judged(judge, cases)
        pairs += zip(together, alone, strict=True)
        for case, first, second in zip(cases, together, alone, strict=True):
            print({"case": case.case_id, "together": first.verdict or first.error, "alone": second.verdict or second.error}, flush=True)
    return {"model": Path(path).name, **_agreement(pairs)}


def _judged(judge: LocalJudge, cases: Sequence[FaithfulnessCase]) -> list[Judgement]:
    passage = Passage("d", 0, len(cases[0].context), cases[0].context)
    answer = " ".join(case.answer for case in cases)
    requests = [JudgeRequest("support", "", answer, case.answer, (passage,)) for case in cases]
    found = dict(judge.judge(requests, AnswerResources(MemoryVectorCache(), CallResources())))
    return [found[place] for place in range(len(cases))]


def _agreement(pairs: Sequence[tuple[Judgement, Judgement]]) -> dict[str, Any]:
    both = [(together.verdict, alone.verdict) for together, alone in pairs if together.verdict and alone.verdict]
    return {
        "claims": len(pairs),
        "with two verdicts": len(both),
        "equal": sum(together == alone for together, alone in both),
        "verdicts together": Counter(together.verdict or together.error for together, _ in pairs),
        "verdicts alone": Counter(alone.verdict or alone.error for _, alone in pairs),
        "seconds together": sum(together.seconds for together, _ in pairs),
        "seconds alone": sum(alone.seconds for _, alone in pairs),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
