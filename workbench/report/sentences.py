"""Sentences about the data, metrics, delivered text, drafts and single configurations."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from workbench.core.text.formatting import NONE, capitalised, count, interval, listed, number, p_value, plural, share, signed, spread
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.intervals import Interval
from workbench.measures.statistics.screening import ScreenedConfiguration, Screening
from workbench.measures.statistics.verdict import Reason, Verdict
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import COVERAGE, CostKind, CostRange, Mean, Standing
from workbench.report.analysis.values import synthetic_questions
from workbench.report.cells import digits_for
from workbench.report.results.run_tables import RETRIEVED, RunTables

_MOST_UNCOVERED = 3

# The retrievers that match words.
_LEXICAL = ("bm25", "hybrid")


def folder_of(run: RunTables) -> str:
    """The folder where a run was opened, as a person wrote it, or that of the documentation."""
    return str(run.folder) if run.folder.name else f"outputs/{run.name}"


def about_dataset(run: RunTables) -> str:
    """The dataset: documents, questions and evidence, files that are not among the documents, and questions that repeat another's text."""
    data = run.dataset
    unanswerable, needs, missing = data["unanswerable"], data["needs"], data["missing"]
    evidence = f", {plural(needs, 'piece of evidence', 'pieces of evidence') if needs else 'no evidence'}"
    not_there = f" ({plural(unanswerable, 'of them has', 'of them have')} no answer in the documents)" if unanswerable else ""
    deleted = f" (labels name {plural(missing, 'deleted document')}, which can never be found)" if missing else ""
    files = plural(len(run.unread), "file of the folder is", "files of the folder are")
    unread = f" {files} not in it (listed in the appendix)." if run.unread else ""
    counts = f"{plural(data['documents'], 'document')}{deleted}, {plural(data['queries'], 'question')}{not_there}{evidence}"
    repeated, relabelled, repeats = data["repeated"], data["relabelled"], ""
    if repeated:
        other = "all" if relabelled == repeated else count(relabelled) if relabelled else "none"
        effect = "every search ranks the same for both" if relabelled else "such a text counts more than once"
        repeat = plural(repeated, "question repeats", "questions repeat")
        repeats = f" {repeat} the text of another, {other} with other labels: {effect} (workbench dataset check lists them)."
    return f"{data['name']}: {counts}.{repeats}{unread}"


def about_trust(run: RunTables) -> list[str]:
    """Name the code and the pickled weights of a run. Empty without any."""
    code = [f"This run executed code named in the experiment: {', '.join(run.code)}."] if run.code else []
    return code + [f"The weights of {model} were loaded from pickles: {', '.join(files)}." for model, files in run.pickles.items()]


def about_primary(run: RunTables) -> str:
    """Describe the primary metric and whether it compares configurations at equal context."""
    metric = run.primary
    if metric.tokens is not None:
        same = all(fact["token_budget"] == metric.tokens for fact in run.facts.values())
        return (
            f"The primary metric is {metric}: it reads the chunks of every configuration by rank until {plural(metric.tokens, 'token')} are "
            "reached, so that large and small chunks are compared on the same amount of text."
            f"{' An export delivers the same tokens.' if same else ''}"
        )
    if not run.dataset["needs"]:
        return (
            f"The questions have no evidence, so equal context does not apply: "
            f"the primary metric is {metric}, over distinct documents, each ranked by its highest chunk."
        )
    return f"The primary metric is {metric}: it does not compare at equal context, because larger chunks deliver more text."


def choice_sentence(findings: Findings, name: str) -> str:
    """Say what the verdict says of the choice of one configuration. Empty for the only one."""
    verdict, metric = findings.verdict, str(findings.primary)
    if verdict is None or name not in verdict.ranked:
        return f"{name} is not ranked by {metric}, so nothing is known about its place."
    if verdict.reason is Reason.ALONE:
        return ""
    leader, within = verdict.ranked[0], f"within ±{number(verdict.smallest_difference)}"
    if name == verdict.winner:
        return f"{name} wins by {metric}."
    if name in verdict.equivalent:
        return f"{name} is a good choice: {listed(verdict.equivalent, _MOST_UNCOVERED)} are equivalent by {metric} {within}."
    if name != leader and findings.equivalent(name, leader):
        return f"{name} is a good choice: it is equivalent to {leader}, the leader by {metric}, {within}."
    if not findings.conclusive:
        return f"No winner by {metric}: {verdict.reason}."
    if name in verdict.best:
        tied = f"{name} and {plural(len(verdict.best) - 1, 'other configuration')}"
        return f"No winner by {metric}: {tied} are statistically indistinguishable."
    ahead = verdict.ahead_of(name)
    return f"{name} is behind {ahead[0]} by {metric}, {p_value(ahead[1])}." if ahead else f"{name} is not in the tie set by {metric}."


def defined(kind: CostKind) -> str:
    """Define a cost."""
    return f"{capitalised(kind.label)}: {kind.unit} {kind.definition}."


def time_text(value: float, passes: CostRange, unit: str = "") -> str:
    """The range of a time, `15 (one measurement)` without a range, or a dash for an unknown time."""
    if math.isnan(value):
        return NONE
    return f"{spread(passes.low, passes.high)}{unit}" if passes.repeated else f"{spread(value, value)}{unit} (one measurement)"


def predicate(mean: Mean, metric: Metric) -> str:
    """Phrase a mean as the predicate of a sentence."""
    text = mean.text(digits_for((mean.low, mean.value, mean.high)))
    if metric.name == "span_recall":
        within = f"within {plural(metric.tokens, 'token')}" if metric.tokens is not None else f"with {plural(metric.k or 0, 'chunk')}"
        return f"delivers {text} of the evidence {within}"
    return f"has {metric} {text}"


def uncovered_sentence(findings: Findings) -> str:
    """Name the configurations that have too few values to be compared, with their numbers. Without a full stop."""
    means = {each.name: each.means[str(findings.primary)] for each in findings.standings.uncovered}
    shown = listed([f"{name} ({mean.n} of {mean.n + mean.unscored})" for name, mean in means.items()], _MOST_UNCOVERED)
    return f"not compared, because fewer than {round(100 * COVERAGE)} % of the questions have a value of {findings.primary}: {shown}"


def not_scored(reasons: Mapping[str, str]) -> str:
    """Name the metrics without a value with their reasons. Empty without one."""
    names: dict[str, list[str]] = {}
    for metric, reason in reasons.items():
        names.setdefault(reason, []).append(metric)
    return f"Not scored here: {'; '.join(f'{listed(several, 12)} ({reason})' for reason, several in names.items())}." if names else ""


def window_note(standing: Standing) -> str:
    """Say why a configuration is not ranked."""
    facts = standing.facts
    cut, tokens = facts["truncated_chunks"], facts["truncated_tokens"]
    return (
        f"{plural(cut, 'chunk')} of {count(facts['chunks'])} longer than the window of {plural(facts['window'] or 0, 'token')}; "
        f"{plural(tokens, 'token')} ({share(tokens, facts['tokens'])}) never embedded"
    )


def context_sentence(standings: Sequence[Standing]) -> str:
    """The largest ratio of text between configurations at the same number of chunks."""
    tokens = {standing.name: float(standing.facts["k_tokens"]) for standing in standings if standing.facts["k_tokens"] is not None}
    most, least = max(tokens, key=tokens.__getitem__, default=""), min(tokens, key=tokens.__getitem__, default="")
    if len(tokens) < 2 or not tokens[least]:
        return "The same number of chunks is not the same amount of text."
    return (
        f"At a fixed number of chunks the amount of text differs: {first_chunks(standings)} of {most} hold {count(tokens[most])} tokens a "
        f"question, {number(tokens[most] / tokens[least], 1)} times those of {least} ({count(tokens[least])}). "
        "Larger chunks gain recall here by construction."
    )


def first_chunks(standings: Sequence[Standing]) -> str:
    """Name the first k chunks of all configurations by their number, if they have one k."""
    numbers = {standing.facts["k"] for standing in standings}
    return f"the first {plural(max(numbers), 'chunk')}" if len(numbers) == 1 else "the first k chunks"


def screened_sentence(screening: Screening) -> str:
    """The number of configurations screened out, the margin, the proxies and the questions."""
    sample = f"{count(screening.queries)} of" if screening.queries < screening.of else "all"
    by = f"by {listed(screening.proxies)} on {sample} {plural(screening.of, 'question')}"
    if not screening.dropped:
        return f"Nothing was screened out {by}: none of {plural(len(screening.rows), 'configuration')} is far enough behind."
    sentence = f"{count(len(screening.dropped))} of {plural(len(screening.rows), 'configuration')} screened out {by}"
    return f"{sentence}: with 95 % confidence more than {number(screening.margin)} behind in {screening.metric}, and not run in full."


def difference_text(row: ScreenedConfiguration) -> str:
    """The difference of a configuration from the leader by proxy, with its interval."""
    return f"{signed(row.difference)} {interval(row.low, row.high)}"


def screened_lines(screening: Screening | None) -> Sequence[str]:
    """Summarise the screening for the terminal: the sentence, each difference, and configurations with equal proxies. Empty without one."""
    if screening is None:
        return []
    behind = [f"  {row.configuration}: {difference_text(row)} against {row.first}" for row in screening.dropped]
    alike = [f"indistinguishable by proxy, so screened together: {listed(names)}" for names in screening.alike]
    return [screened_sentence(screening), *behind, *alike]


def delivery_notes(run: RunTables) -> list[str]:
    """Name the configurations whose delivered text is not the measured text, or does not fill the token budget."""
    facts, primary = run.facts, run.primary
    budgets = {name: int(fact["token_budget"]) for name, fact in facts.items() if fact["token_budget"] is not None}
    notes = other_budgets(str(primary), primary.tokens, budgets) if primary.tokens is not None else []
    unfilled = {name: float(part) for name in budgets if (part := facts[name]["unfilled_queries"]) is not None}
    # Vectors rank every chunk.
    whole = [name for name, part in unfilled.items() if part == 1 and facts[name]["embedding"] is not None]
    notes += whole_corpus({name: budgets[name] for name in whole}, len(facts))
    sizes = [float(fact["tokens"]) for fact in facts.values() if fact["tokens"]]
    notes += most_of_corpus(primary.tokens, min(sizes)) if primary.tokens and sizes and not whole else []
    notes += unfilled_budgets({name: part for name, part in unfilled.items() if part > 0 and name not in whole}, len(facts))
    held = {
        name: float(fact["delivered_tokens"])
        for name, fact in facts.items()
        if name not in budgets and fact["delivered_tokens"] is not None
    }
    # The cuts of the experiment's metrics, without those that are only measured for the curve of recall.
    named = run.manifest["experiment"].get("metrics", ())
    chosen = (metric for name, metric in run.measures.items() if name in named or metric.name != "span_recall")
    cuts = sorted({metric.tokens for metric in chosen if metric.tokens is not None}) if run.dataset["needs"] else []
    return notes + short_deliveries(cuts, held, len(facts)) + equal_contexts(run)


def other_budgets(metric: str, tokens: int, budgets: Mapping[str, int]) -> list[str]:
    """Name the configurations that deliver another number of tokens than the primary metric reads."""
    others = {name: budget for name, budget in budgets.items() if budget != tokens}
    if not others:
        return []
    delivered, by = listed([count(budget) for budget in sorted(set(others.values()))]), _named(list(others), len(budgets))
    reads = f"{metric} reads {plural(tokens, 'token')}, but {by} {'delivers' if len(others) == 1 else 'deliver'} {delivered}"
    return [f"The measured text is not the delivered text: {reads}."]


def whole_corpus(budgets: Mapping[str, int], of: int) -> list[str]:
    """Name the configurations that deliver everything that they find."""
    if not budgets:
        return []
    tokens = listed([plural(budget, "token") for budget in sorted(set(budgets.values()))])
    all_of_it = "delivers everything that it finds" if len(budgets) == 1 else "deliver everything that they find"
    return [f"The whole corpus fits into {tokens}: {_named(list(budgets), of)} {all_of_it}, so the order does not matter."]


def most_of_corpus(tokens: int, corpus: float) -> list[str]:
    """Warn if the measured text is at least half of all text, which tells few configurations apart."""
    if not corpus or tokens < corpus / 2:
        return []
    part = share(min(tokens, corpus), corpus)
    return [f"{plural(tokens, 'token')} are {part} of all text ({count(corpus)} tokens): fewer would tell configurations apart better."]


def unfilled_budgets(shares: Mapping[str, float], of: int) -> list[str]:
    """Name the configurations that find too few chunks to fill the budget, with the share of questions."""
    if not shares:
        return []
    low, high = (share(bound, 1) for bound in (min(shares.values()), max(shares.values())))
    part = low if low == high else f"{low} to {high}"
    return [f"Too few chunks match to fill the token budget with {_named(list(shares), of)} on {part} of the questions."]


def short_deliveries(cuts: Sequence[int], held: Mapping[str, float], of: int) -> list[str]:
    """Name the configurations whose k delivered chunks hold fewer tokens than metrics with these cuts read."""
    notes = []
    for tokens in cuts:
        if short := [name for name, delivered in held.items() if delivered < tokens]:
            by = f"{_named(short, of)} {'delivers' if len(short) == 1 else 'deliver'}"
            notes.append(f"Metrics at {tokens}t read {plural(tokens, 'token')} of the ranking, but the k chunks that {by} hold fewer.")
    return notes


def equal_contexts(run: RunTables) -> list[str]:
    """Name the budgets of contexts that make no difference, because retrieval delivers less text than they allow."""
    alike: dict[str, dict[int, str]] = defaultdict(dict)
    for name in dict.fromkeys(run.answers["configuration"]):
        settings = run.manifest["configurations"][name]
        if context := settings.get("context"):
            rest = {**settings, "context": context | {"budget": None}}
            alike[json.dumps(rest, sort_keys=True)][context["budget"]] = name
    groups = []
    for budgets in alike.values():
        contexts = {}
        for budget, name in budgets.items():
            rows = run.of("answers", name)
            rows = rows[(rows["condition"] == RETRIEVED) & (rows["repeat"] == 0)]
            contexts[budget] = rows.set_index("query_id")["passages"].to_dict()
        # The budgets whose retrieved contexts are those of the largest one.
        unused = tuple(budget for budget in sorted(contexts) if contexts[budget] == contexts[max(contexts)])
        groups += [unused] if len(unused) > 1 else []
    return [
        f"Budgets of {listed([count(budget) for budget in budgets])} tokens give the same contexts, because retrieval delivers no more text; "
        "set deliver of the retrieval to as many tokens as the largest budget to compare them."
        for budgets in dict.fromkeys(groups)
    ]


def _named(names: Sequence[str], of: int) -> str:
    return f"all {of} configurations" if len(names) == of > 1 else listed(names)


def drafts_lines(run: RunTables) -> list[str]:
    """Warn of drafts that nobody has accepted. Empty without any."""
    drafts = unaccepted_drafts(run)
    first = "write the questions" if has_placeholders(run) else "review them"
    return [" ".join([f"{capitalised(drafts)}: {first} before you decide.", *_bias(run)])] if drafts else []


def beside_verdict(run: RunTables, verdict: Verdict | None) -> list[str]:
    """Warn of drafts beside the verdict. One that is a preview already counts them, and says what to do."""
    if verdict is None or verdict.reason is not Reason.DRAFTS:
        return drafts_lines(run)
    return _bias(run)


def _bias(run: RunTables) -> list[str]:
    lexical = any(dict(each.get("retrieval") or {}).get("kind") in _LEXICAL for each in run.configurations_settings.values())
    return (
        [f"{'Headings' if has_placeholders(run) else 'Drafts'} use the words of their evidence, which favours lexical search."]
        if lexical
        else []
    )


def unaccepted_drafts(run: RunTables) -> str:
    """State how many questions of a run are drafts that nobody has accepted. Empty without any."""
    written = synthetic_questions(run)
    return drafts_of(written.waiting, written.of, written.placeholders) if written and written.waiting else ""


def has_placeholders(run: RunTables) -> bool:
    """Return True if any question of a run is a heading in place of a question."""
    written = synthetic_questions(run)
    return written is not None and written.placeholders > 0


def drafts_of(waiting: int, questions: int, placeholders: int = 0) -> str:
    """State how many questions, `waiting` of all, are drafts that nobody has accepted, and how many of these are `placeholders`."""
    if placeholders:
        many = f"of {plural(questions, 'question')}, {_some(placeholders, 'placeholder')}"
        many = "every question is a placeholder" if placeholders == questions else many
        others = f" and {_some(waiting - placeholders, 'draft')} that nobody has accepted" if waiting > placeholders else ""
        return f"{many}{others}, and figures on headings in place of questions are not a result"
    if waiting == questions:
        return "every question is a draft that nobody has accepted"
    return f"{count(waiting)} of {plural(questions, 'question')} {'is a draft' if waiting == 1 else 'are drafts'} that nobody has accepted"


def _some(number: int, noun: str) -> str:
    return f"{count(number)} {'is a' if number == 1 else 'are'} {noun}{'' if number == 1 else 's'}"


def too_few(run: RunTables, mean: Interval, about: str) -> str:
    """State that the questions of a mean allow no claim, because they are drafts or too few. Without a full stop."""
    if unaccepted_drafts(run):
        return f"No claim about {about} rests on drafts"
    counts = f"{plural(mean.n, 'question')} about {plural(mean.clusters, 'document')}"
    return f"{counts} {'is' if mean.n == 1 else 'are'} too few for a claim about {about}"
