"""The next step after a run, with a command that can be pasted."""

import json
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from workbench.core.files import is_temporary
from workbench.core.text.formatting import capitalised, listed, plural
from workbench.llm.models.files import MINILM
from workbench.measures.statistics.clusters import FEWEST_FOR_WINNER
from workbench.measures.statistics.verdict import FEWEST_QUERIES
from workbench.report.analysis.causes import missed_evidence
from workbench.report.analysis.decision import ResultKind, RunDecision
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import Standing
from workbench.report.model import NextStep
from workbench.report.results.randomness import random_parts
from workbench.report.sentences import (
    folder_of,
    has_placeholders,
)
from workbench.report.topics.decision.headline import differ_in_answers


def next_step(decision: RunDecision) -> NextStep | None:
    """The next step of each kind of result."""
    findings, kind = decision.findings, decision.kind
    if kind in (ResultKind.INCOMPLETE, ResultKind.UNRANKED):
        return NextStep(_repair(decision), _sweep(findings))
    if kind is ResultKind.DRAFTS:
        do = "Write the questions in place of the placeholders" if has_placeholders(findings) else "Accept or delete the drafts"
        return NextStep(f"{do} in the labeller, then sweep again.", _label(findings))
    if kind is ResultKind.MISSING:
        return NextStep("Sweep again: results that have a value are reused, and only the missing ones are computed.", _sweep(findings))
    if kind in (ResultKind.FEW, ResultKind.IDENTICAL) and differ_in_answers(findings):
        return NextStep("Rank by a metric of answers, and sweep again. Results are reused.", _sweep(findings, *_answer_metric(findings)))
    if kind is ResultKind.FEW:
        return NextStep(_add_questions(decision), _label(findings))
    if kind is ResultKind.EQUIVALENT and decision.use and _exportable(findings, decision.use.name):
        return NextStep("No more questions are needed for this decision. Export the retriever.", _of_run("export", findings, decision.use))
    if kind is ResultKind.TIED or (kind is ResultKind.IDENTICAL and _better_ranking(decision)):
        return _improve(decision)
    if is_temporary(findings.folder):
        return NextStep("To keep this run and make it the baseline of the gate, give wb.compare a folder as outputs.")
    if decision.shown and any(random_parts(findings, decision.shown.name, metric) for metric in findings.measures):
        again = "Make it the baseline of the gate after three sweeps: values that a service or a model gives differ from run to run."
        arguments = _arguments(findings)
        return NextStep(again, shlex.join(["workbench", "sweep", *arguments, "--outputs", "second"]) if arguments else "")
    keep = "Keep it: make this run the baseline of the gate in CI."
    keep = "Make this run the baseline, so that the gate compares the next one with it." if kind is ResultKind.ALONE else keep
    return NextStep(keep, _of_run("gate", findings, decision.shown, "--update-baseline", "baseline.json"))


def _repair(decision: RunDecision) -> str:
    windowed = bool(decision.findings.standings.windowed)
    parts = ["repair what failed"] if decision.failed else []
    parts += ["split into smaller chunks or widen the embedder's window"] if windowed else []
    if not decision.failed and not windowed and not decision.findings.standings.uncovered:
        return f"Give the labels that {decision.findings.primary} needs, or choose another primary metric, then sweep again."
    parts += ["score the missing questions"] if decision.findings.standings.uncovered else []
    return f"{capitalised(listed(parts))}, then sweep again. Results that stay the same are reused."


def _add_questions(decision: RunDecision) -> str:
    verdict = decision.findings.verdict
    assert verdict
    questions, documents = FEWEST_QUERIES - verdict.n, FEWEST_FOR_WINNER - verdict.clusters
    many = f"{plural(questions, 'question')} or more" if questions > 0 else "questions"
    about_new = f", about {plural(documents, 'document')} or more that have none yet" if documents > 0 else ""
    keep = "" if decision.findings.baseline else " Meanwhile keep what you have."
    return f"Add {many}{about_new}, in the labeller, then sweep again.{keep}"


def _improve(decision: RunDecision) -> NextStep:
    """Say what would help most where several may be best: a better ranking of what is missed, or else a reading of the questions that differ."""
    findings = decision.findings
    if better := _better_ranking(decision):
        return better
    inside = not findings.folder.is_absolute()
    lab = shlex.join(["workbench", "lab", folder_of(findings)]) if findings.has_notebooks and inside else ""
    return NextStep("Read the questions that the best ones answer differently.", lab)


def _better_ranking(decision: RunDecision) -> NextStep | None:
    """The step that adds a better ranking, if most of what is missed ranks too low and the run has not tried one."""
    findings, missed = decision.findings, decision.misses
    causes = list(missed.causes) if missed and missed.known else []
    addition = _addition(findings) if causes and causes[0] == "rank" and not decision.targets else None
    command = _sweep(findings, "--set", addition[1]) if addition else ""
    if addition is None or not command:
        return None
    pieces = missed_evidence(findings, decision.shown.name)["cause"] if decision.shown else ()
    most = "All misses are" if len(set(pieces)) == 1 else "Most misses are"
    return NextStep(f"{most} ranked too low: try {addition[0]}. Results that are there are reused.", command)


def _exportable(findings: Findings, name: str) -> bool:
    """Check that a retriever of the workbench's own parts can be written without the workbench."""
    stages = findings.configurations_settings[name]
    own = "target" not in stages
    return own and (stages["retrieval"]["kind"] == "bm25" or stages["embedding"]["kind"] == "sentence-transformers")


def _addition(findings: Findings) -> tuple[str, str] | None:
    """Hybrid search, or else a reranker, with the change of the experiment that adds it to what is swept. None if the run has both, or no sweep."""
    experiment = findings.manifest["experiment"]
    sweep = experiment.get("sweep") or {}
    if "configurations" in experiment or not isinstance(sweep, dict):
        return None
    settings = [stages for stages in findings.configurations_settings.values() if "target" not in stages]
    usual = (experiment.get("pipeline") or {}).get("retrieval", {"kind": "dense"})
    for stage, words, present, added in (
        ("retrieval", "hybrid search", [usual], {"kind": "hybrid"}),
        ("rerank", "a reranker", ["none"], _reranker(settings)),
    ):
        swept = sweep.get(stage, present)
        tried = any(stages.get(stage) and (stage == "rerank" or stages[stage]["kind"] == added["kind"]) for stages in settings)
        if not tried and isinstance(swept, list):
            return words, f"sweep.{stage}={json.dumps([*swept, added])}"
    return None


def _reranker(settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A reranker by the token vectors of the embedder, or of the bundled model where an embedder may have none."""
    own = all((stages.get("embedding") or {}).get("kind") == "sentence-transformers" for stages in settings)
    return {"kind": "late-interaction", "pool": 20} | ({} if own else {"model": MINILM})


def _arguments(findings: Findings) -> tuple[str, ...]:
    """The file and the changes of the sweep that made the run. Empty if it was not made by the command.

    Somebody else may have written the manifest, so options that it names besides --set, such as --allow-code, are left out.
    """
    path, *options = findings.manifest.get("arguments", [""])
    changes = [value for option, value in pairwise(options) if option == "--set" and not value.startswith("-")]
    return (path, *(part for each in changes for part in ("--set", each))) if path and not path.startswith("-") else ()


def _sweep(findings: Findings, *changes: str) -> str:
    arguments = _arguments(findings)
    outputs = findings.folder.parent
    option = ["--outputs", str(outputs)] if findings.folder.name and str(outputs) != "outputs" else []
    return shlex.join(["workbench", "sweep", *arguments, *changes, *option]) if arguments else ""


def _answer_metric(findings: Findings) -> Sequence[str]:
    names = [name for name, metric in findings.measures.items() if metric.of_answers and metric.compares]
    return ["--set", f"primary={(names or ['answer_recall'])[0]}"]


def _label(findings: Findings) -> str:
    arguments = _arguments(findings)
    return shlex.join(["workbench", "lab", arguments[0], "--notebook", "label"]) if arguments else ""


def _of_run(command: str, findings: Findings, standing: Standing | None, *options: str) -> str:
    named = ["--configuration", standing.name] if standing else []
    return shlex.join(["workbench", command, folder_of(findings), *named, *options])
