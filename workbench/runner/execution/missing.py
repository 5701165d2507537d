"""Name missing answers, judgements and replies of targets, and answers that a server gave under several names of models."""

import json
from collections import Counter
from collections.abc import Iterable

import pandas as pd

from workbench.core.text.formatting import count, listed, plural
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import Outcome
from workbench.runner.experiment.judging_keys import unjudged_by_default
from workbench.runner.pipeline.stages.responses import UNMATCHED, UNPLACED

_REASONS = 3
_JUDGING = ("judge_tests", "claims", "verdicts", "judgements")


def missing_answers(run: RunTables) -> list[str]:
    """Return a line that counts the missing answers by reason and says the fix, or no line if none is missing."""
    answers = run.answers
    failed = answers[answers["error"] != ""]
    if failed.empty:
        return []
    asked = int((answers["reason"] == "").sum())
    files = {*_named(run.configurations, "answering", "recorded"), *_named(run.targets, "target", "recorded")}
    # Another run asks a model again, but finds no other answers in the same file.
    in_files = failed["configuration"].isin(files)
    fixes = (("add these to the recorded answers", in_files.any()), ("run again to ask only for these", not in_files.all()))
    fix = " or ".join(text for text, needed in fixes if needed)
    return [f"{count(len(failed))} of {count(asked)} answers are missing and not scored ({counted_reasons(failed['error'])}); {fix}"]


def _named(table: pd.DataFrame, column: str, kind: str) -> list[str]:
    """Return the configurations of a kind."""
    return table.loc[table[column] == kind, "configuration"].tolist()


def mixed_models(run: RunTables) -> list[str]:
    """Return a line for each configuration whose answers, new or from the cache of calls, a server gave under several names of models."""
    lines = []
    for name, models in run.answers.loc[run.answers["model"] != "", ["configuration", "model"]].groupby("configuration", sort=False)[
        "model"
    ]:
        if len(counts := models.value_counts()) > 1:
            named = listed([f"{model} ({count(number)})" for model, number in counts.items()], _REASONS)
            lines.append(
                f"the answers of {name} are of {count(len(counts))} models: {named}; if its server has changed the model, "
                "set another --outputs to ask all questions again"
            )
    return lines


def counted_reasons(errors: Iterable[str]) -> str:
    """List the most frequent reasons of failures with their counts."""
    reasons = Counter(errors).most_common()
    shown = "; ".join(f"{count(times)} × {reason}" for reason, times in reasons[:_REASONS])
    more = f"; and {count(sum(times for _, times in reasons[_REASONS:]))} for other reasons" if reasons[_REASONS:] else ""
    return shown + more


def left_out_judges(outcome: Outcome) -> list[str]:
    """Return a line if answers are not judged because a package of the usual judge is not installed, or no line."""
    answered = any(configuration.answering for configuration in outcome.experiment.configurations)
    absent = unjudged_by_default() if answered and "judging" not in outcome.experiment.settings else None
    lost = "the answers are not judged" + (", and not compared by meaning" if "metrics" not in outcome.experiment.settings else "")
    return [f"{lost}: that needs {absent[0]}; {absent[1]}"] if absent else []


def missing_judgements(outcome: Outcome) -> tuple[str, str]:
    """Return a line about failed calls, which the next run makes again, and one about replies without a judgement, or empty texts."""
    missing = [entry.values("missing") for results in outcome.results for entry in results.parts(*_JUDGING)]
    failed, unread = ([error for each in missing for error in each[name]] for name in ("failed", "unread"))
    of = count(sum(each["of"] for each in missing))
    return (
        f"{count(len(failed))} of {of} judgements are missing and not scored ({counted_reasons(failed)}); run again to ask only for these"
        if failed
        else "",
        f"{count(len(unread))} of {of} replies of judges have no judgement and are not scored ({counted_reasons(unread)})"
        if unread
        else "",
    )


def missing_replies(run: RunTables) -> list[str]:
    """Return a line for each target that did not serve all questions."""
    failed = run.targets[run.targets["failed"] > 0]
    return [
        f"the target {row['configuration']} did not serve {plural(row['failed'], 'question')} of {row['asked']}, which are not scored "
        f"(first: {row['error']}){'' if row['target'] == 'recorded' else '; run again to ask only for these'}"
        for row in failed.to_dict("records")
    ]


def incomplete_replies(run: RunTables) -> list[str]:
    """Return a line for each target that found nothing for a question, whose hits have no known document or place, or with parts that are not read."""
    lines = []
    for row in run.targets.to_dict("records"):
        name, hits = row["configuration"], plural(row["hits"], "hit")
        if row["empty"]:
            lines.append(
                f"the target {name} found nothing for {plural(row['empty'], 'question')} of {row['asked']}; those with an answer score 0"
            )
        if row["unmatched"]:
            lines.append(
                f"{row['unmatched']} of {hits} of the target {name} could not be matched with the documents "
                f"(first: {json.loads(row['examples'])[0]}); see match in its settings{_lost(run, name, UNMATCHED)}"
            )
        if row["unplaced"]:
            lines.append(
                f"{row['unplaced']} of {hits} of the target {name} matched a document but not a place in it "
                f"(first: {json.loads(row['unplaced_examples'])[0]}); metrics of documents count them{_lost(run, name, UNPLACED)}"
            )
        if row["unread"]:
            lines.append(f"answers of the target {name} have parts that are no text and are not read: {row['unread']}")
    return lines


def _lost(run: RunTables, configuration: str, reason: str) -> str:
    """Say which metrics leave out which questions for a reason, metrics with the same questions together. Empty if none does."""
    rows = run.of("queries", configuration)
    rows = rows[(rows["state"] == "unscored") & rows["reason"].str.startswith(reason)]
    left_out: dict[tuple[str, ...], list[str]] = {}
    for metric, questions in rows.groupby("metric", sort=False)["query_id"]:
        left_out.setdefault(tuple(dict.fromkeys(questions)), []).append(str(metric))
    parts = [f"{listed(metrics)} {plural(len(questions), 'question')} ({listed(questions, 5)})" for questions, metrics in left_out.items()]
    return f"; left out without a score: of {', of '.join(parts)}" if parts else ""
