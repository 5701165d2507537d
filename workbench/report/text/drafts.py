"""Drafted questions that nobody has accepted, on which no decision rests."""

from workbench.analysis.synthetic import synthetic_questions
from workbench.core.formatting import capitalised, count, plural
from workbench.results.run_tables import RunTables
from workbench.statistics.intervals import Interval
from workbench.statistics.verdict import Reason, Verdict

# The retrievers that match words.
_LEXICAL = ("bm25", "hybrid")


def drafts_lines(run: RunTables) -> list[str]:
    """Warn of drafts that nobody has accepted. Empty without any."""
    drafts = unaccepted_drafts(run)
    return [" ".join([f"{capitalised(drafts)}: review them before you decide.", *_bias(run)])] if drafts else []


def beside_verdict(run: RunTables, verdict: Verdict | None) -> list[str]:
    """Warn of drafts beside the verdict. One that is a preview already counts them, and says what to do."""
    if verdict is None or verdict.reason is not Reason.DRAFTS:
        return drafts_lines(run)
    return _bias(run)


def _bias(run: RunTables) -> list[str]:
    lexical = any(dict(each.get("retrieval") or {}).get("kind") in _LEXICAL for each in run.configurations_settings.values())
    return ["Drafts use the words of their evidence, which favours lexical search."] if lexical else []


def unaccepted_drafts(run: RunTables) -> str:
    """State how many questions of a run are drafts that nobody has accepted. Empty without any."""
    written = synthetic_questions(run)
    return drafts_of(written.waiting, written.of) if written and written.waiting else ""


def drafts_of(waiting: int, questions: int) -> str:
    """State how many questions, `waiting` of all, are drafts that nobody has accepted."""
    if waiting == questions:
        return "every question is a draft that nobody has accepted"
    return f"{count(waiting)} of {plural(questions, 'question')} {'is a draft' if waiting == 1 else 'are drafts'} that nobody has accepted"


def too_few(run: RunTables, mean: Interval, about: str) -> str:
    """State that the questions of a mean allow no claim, because they are drafts or too few. Without a full stop."""
    if unaccepted_drafts(run):
        return f"No claim about {about} rests on drafts"
    counts = f"{plural(mean.n, 'question')} about {plural(mean.clusters, 'document')}"
    return f"{counts} {'is' if mean.n == 1 else 'are'} too few for a claim about {about}"
