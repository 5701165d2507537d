"""Measure judges against labels and write docs/judges.md.

`python -m benchmarks.judging --model FILE.gguf --sample 100`. Without `--model`: the baselines and `overlap`. Rows that are not measured anew stay. Calls and vectors are
cached under the outputs folder, so that an interrupted run can go on.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.judging.judged import Figures, Scorer, always_yes, figures, scorer_of, word_overlap
from benchmarks.judging.page import PAGE, page, sets_of
from benchmarks.judging.parts import flagged, splitter
from benchmarks.judging.refusals import measured
from benchmarks.record import commit, machine
from workbench.components.answering.base import AnswerResources
from workbench.components.judging.base import Task
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.judging.prompted import LocalJudge
from workbench.core.environment import data_folder
from workbench.llm.session import CallResources
from workbench.runner.pipeline.context import Workspace

RESULTS = Path("benchmarks/results/judging.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, store the figures after each set, and write the page."""
    options = _options(arguments)
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {"rows": []}
    workspace = Workspace.at(options.outputs)
    resources = AnswerResources(workspace.vectors, CallResources(workspace.calls))
    for labelled in sets_of(options.sets) if not (options.page or options.refusals) else ():
        if labelled.missing:
            print(f"left out: {labelled.name} needs {labelled.needs} in {data_folder()}; set WORKBENCH_DATA")
            continue
        for name, scorer, most in _scorers(labelled.task, options, resources):
            began = time.perf_counter()
            row = figures(labelled, name, scorer, most)
            kept = [other for other in results["rows"] if (other["set"], other["judge"]) != (row["set"], row["judge"])]
            _write(results | {"rows": [*kept, row]})
            results["rows"] = [*kept, row]
            print(f"{labelled.name}, {name}: AUROC {row['auroc']} ({time.perf_counter() - began:.0f} s)", flush=True)
    if not options.model and not options.page and not options.refusals:
        (handbook,) = sets_of(["handbook"])
        results |= {"flags": flagged(handbook, resources), "splitter": splitter(), "machine": machine(), "commit": commit()}
    if not options.model and not options.page and not options.sets:
        anew = {row["set"]: row for row in measured(options.answers)}
        known = {row["set"]: row for row in results.get("refusals", [])}
        results["refusals"] = list((known | anew).values())
        for row in anew.values():
            print(
                f"refusals, {row['set']}: missed {row['missed']}, taken for refusals {row['taken']} (errors, of, 95 % limits)", flush=True
            )
        _write(results)
        _write(results)
    PAGE.write_text(page(results), "utf-8")
    return 0


def _scorers(task: Task, options: argparse.Namespace, resources: AnswerResources) -> Iterator[tuple[str, Scorer, int | None]]:
    if not options.model:
        yield from (("always yes", always_yes, None), ("word overlap", word_overlap, None))
        yield "overlap", scorer_of(OverlapJudge(), resources), None
    for path in options.model:
        judge = LocalJudge(path=str(path), replies=options.replies)
        if task in judge.tasks:
            yield judge.label, scorer_of(judge, resources), options.sample


def _write(results: Figures) -> None:
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.judging", description="Measure judges against labels and write docs/judges.md.")
    parser.add_argument(
        "--model", action="append", type=Path, default=[], metavar="FILE", help="a chat model in a GGUF file; can be repeated"
    )
    parser.add_argument("--replies", choices=("yes_no", "json"), default="yes_no", help="the form of a model's replies; default yes_no")
    parser.add_argument("--sample", type=int, metavar="N", help="the most items of a set for a model, half of them to approve; default all")
    parser.add_argument("--sets", nargs="+", default=[], metavar="SET", help="only these sets; default all")
    parser.add_argument("--outputs", type=Path, default=Path("outputs"), help="the folder whose store has the caches; default outputs")
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="generation_tasks/reference.jsonl of MTRAG-UN: answers and refusals of people"
    )
    parser.add_argument("--refusals", action="store_true", help="measure only refusals")
    parser.add_argument("--page", action="store_true", help="write only the page, from the stored figures")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
