"""The end-to-end assertion."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from workbench.analysis.answer_values import is_verbatim
from workbench.core.display import excerpt
from workbench.core.formatting import number, plural
from workbench.errors import InputError
from workbench.gate.check import gated_configuration
from workbench.gate.rules import GateSettings
from workbench.judging.settings import EndToEndThresholds
from workbench.printable import printable_line
from workbench.records import Dataset
from workbench.report.text.sentences import unaccepted_drafts
from workbench.results.run_tables import RETRIEVED, RunTables
from workbench.testing.assertions.systems import Judges, require_accepted, run_of

_METRIC, _SHOWN = "end_to_end", 5


def assert_end_to_end(
    system: object,
    *,
    at_least: float = 1.0,
    dataset: Dataset | None = None,
    configuration: str | None = None,
    judging: Judges = None,
) -> None:
    """Assert that questions pass the end-to-end test.

    A question passes if at least one expected document is in its context, each passage is relevant enough (0.5), the answer is faithful (0.85), has
    more than 50 characters and is relevant and correct enough (0.5); one that no document answers if it is refused. The key `judging.thresholds`
    of the experiment sets other limits.

    Parameters
    ----------
    system: the results of a sweep with the metric `end_to_end`, or a pipeline, an index or a target that searches and answers, which is asked.
    at_least: the least share of questions that pass.
    judging: the judges of a system's answers, as in an experiment.

    Raises
    ------
    AssertionError: fewer pass, or a question is a draft that nobody has accepted. The message says for each question what is wrong.
    InputError: the results lack the metric, or no question has a value.
    """
    __tracebackhide__ = True
    run = run_of(system, dataset, [_METRIC], judging)
    name = gated_configuration(run, GateSettings(configuration=configuration))
    rows = run.of("queries", name)
    rows = rows[(rows["metric"] == _METRIC) & (rows["condition"] == RETRIEVED) & (rows["repeat"] == 0)]
    scored, unscored = rows[rows["state"] == "scored"], rows[rows["state"] == "unscored"]
    if scored.empty:
        reason = f": {unscored['reason'].iloc[0]}" if len(unscored) else ""
        raise InputError(f"no question of {run.name} has a value of {_METRIC}{reason}", f"add {_METRIC} to the metrics and sweep again")
    passed, of = int((scored["value"] == 1).sum()), len(scored) + len(unscored)
    require_accepted(unaccepted_drafts(run), f"{passed} of {plural(of, 'question')} pass the end-to-end test")
    if passed < at_least * of:
        faults = _Faults(run, name)
        missing = f", {len(unscored)} could not be judged ({unscored['reason'].iloc[0]})" if len(unscored) else ""
        lines = [f"{passed} of {plural(of, 'question')} pass the end-to-end test, at least {at_least:.0%} must{missing}"]
        lines += [faults.line(str(query_id)) for query_id in scored["query_id"][scored["value"] < 1][:_SHOWN]]
        raise AssertionError("\n".join(map(printable_line, lines)))


@dataclass(frozen=True, eq=False)
class _Faults:
    """Why questions fail."""

    run: RunTables
    configuration: str

    def line(self, query_id: str) -> str:
        question = self.run.questions.set_index("query_id").loc[query_id]
        return f"  {query_id}  {excerpt(str(question['text']), 60)}: {'; '.join(self._of(query_id, bool(question['answerable'])))}"

    def _of(self, query_id: str, answerable: bool) -> Iterator[str]:
        (answer,) = self._rows("answers", query_id).to_dict("records")
        if not answerable or answer["refused"]:
            yield "refused, although a document answers it" if answerable else f"answered, although no document does: {_short(answer)}"
            return
        limits = EndToEndThresholds.model_validate((self.run.judging or {}).get("thresholds", {}))
        found = {passage["doc_id"] for passage in json.loads(answer["passages"])}
        judged = self.run.judgements[(self.run.judgements["query_id"] == query_id) & (self.run.judgements["relevance"] > 0)]
        if not found & set(judged["doc_id"]):
            yield f"no expected document in the context ({', '.join(sorted(set(judged['doc_id']))[:3])})"
        yield from self._judged(query_id, limits)
        if (length := len(str(answer["answer"]).strip())) <= limits.characters:
            yield f"{length} characters, more than {limits.characters} are expected: {_short(answer)}"

    def _judged(self, query_id: str, limits: EndToEndThresholds) -> Iterator[str]:
        scores = self._rows("answer_judgements", query_id)
        low = scores[(scores["task"] == "context_relevance") & (scores["score"] < limits.context_relevance)]
        if len(low):
            worst = number(float(low["score"].min()))
            yield f"{plural(len(low), 'passage')} below the relevance of {limits.context_relevance:g}, the lowest {worst}"
        for task, least in (("answer_relevance", limits.answer_relevance), ("correctness", limits.correctness)):
            for score in scores["score"][(scores["task"] == task) & (scores["score"] < least)]:
                yield f"{task.replace('_', ' ')} {number(float(score))}, at least {least:g} is expected"
        claims = self._rows("claims", query_id)
        # A copied answer needs no support, and a mere score decides nothing.
        counts = not is_verbatim(self.run, self.configuration) and "score" not in set(self.run.judges.query("task == 'support'")["role"])
        claims = claims[(claims["verdict"] != "") & counts]
        supported = float((claims["verdict"] == "supported").mean()) if len(claims) else 1.0
        if supported < limits.faithfulness:
            yield f"{supported:.0%} of {plural(len(claims), 'claim')} are supported, at least {limits.faithfulness:.0%} are expected"

    def _rows(self, table: str, query_id: str) -> pd.DataFrame:
        rows = self.run.of(table, self.configuration)
        return rows[(rows["query_id"] == query_id) & (rows["condition"] == RETRIEVED) & (rows["repeat"] == 0)]


def _short(answer: dict[Any, Any]) -> str:
    return excerpt(str(answer["answer"]), 80)
