"""Sentences about delivered text that is not the measured text or does not fill the token budget."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from workbench.core.formatting import count, listed, plural, share
from workbench.results.run_tables import RETRIEVED, RunTables


def delivery_notes(run: RunTables) -> list[str]:
    """Name the configurations whose delivered text is not the measured text, or does not fill the token budget."""
    facts, primary = run.facts, run.primary
    budgets = {name: int(fact["token_budget"]) for name, fact in facts.items() if fact["token_budget"] is not None}
    notes = other_budgets(str(primary), primary.tokens, budgets) if primary.tokens is not None else []
    unfilled = {name: float(part) for name in budgets if (part := facts[name]["unfilled_queries"]) is not None}
    # Vectors rank every chunk.
    whole = [name for name, part in unfilled.items() if part == 1 and facts[name]["embedding"] is not None]
    notes += whole_corpus({name: budgets[name] for name in whole}, len(facts))
    notes += unfilled_budgets({name: part for name, part in unfilled.items() if part > 0 and name not in whole}, len(facts))
    held = {
        name: float(fact["delivered_tokens"])
        for name, fact in facts.items()
        if name not in budgets and fact["delivered_tokens"] is not None
    }
    return notes + short_deliveries(_token_cuts(run), held, len(facts)) + equal_contexts(run)


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
    found = [unused for budgets in alike.values() if len(budgets) > 1 and (unused := _unused(run, budgets))]
    return [
        f"Budgets of {listed([count(budget) for budget in budgets])} tokens give the same contexts, because retrieval delivers no more text; "
        "set deliver of the retrieval to as many tokens as the largest budget to compare them."
        for budgets in dict.fromkeys(found)
    ]


def _unused(run: RunTables, budgets: Mapping[int, str]) -> tuple[int, ...]:
    """Return the budgets, of configurations equal in everything else, whose retrieved contexts are those of the largest one."""
    contexts = {}
    for budget, name in budgets.items():
        rows = run.of("answers", name)
        rows = rows[(rows["condition"] == RETRIEVED) & (rows["repeat"] == 0)]
        contexts[budget] = rows.set_index("query_id")["passages"].to_dict()
    unused = tuple(budget for budget in sorted(contexts) if contexts[budget] == contexts[max(contexts)])
    return unused if len(unused) > 1 else ()


def _token_cuts(run: RunTables) -> list[int]:
    """Return the cuts in tokens of the experiment's metrics, without those that are only measured for the curve of recall."""
    named = run.manifest["experiment"].get("metrics", ())
    chosen = (metric for name, metric in run.measures.items() if name in named or metric.name != "span_recall")
    return sorted({metric.tokens for metric in chosen if metric.tokens is not None}) if run.dataset["needs"] else []


def _named(names: Sequence[str], of: int) -> str:
    return f"all {of} configurations" if len(names) == of > 1 else listed(names)
