"""Measure the time per question of finished configurations: warm, one question at a time, in several rounds of random order."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.reranking.base import Reranker
from workbench.components.retrieval.base import Corpus, QueryBatch, Ranking, SearchDepth
from workbench.components.retrieval.rank import SEED, Floats
from workbench.components.retrieval.search import candidates, search
from workbench.components.rewriting.base import FeedbackRewriter, Rewriter, TextRewriter, expanded_queries
from workbench.core.errors import error_line
from workbench.core.fingerprint import fingerprint
from workbench.core.storage.result_store import ResultWriter
from workbench.core.text.formatting import plural
from workbench.core.text.progress import ProgressBar
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.graph import Graph
from workbench.runner.pipeline.search import SearchedQueries, corpus_of, original_queries, searched_queries
from workbench.runner.pipeline.stage import Inputs, Node
from workbench.runner.pipeline.stage_results import StageResults

LATENCY, EMBED = "latency", "embed"
# The title of their progress.
LATENCIES = "latencies"
# Of ten equal rounds, the first five are all faster or all slower than the others in 0.8 %.
ROUNDS = 5
QUESTIONS = 50
# The first visit takes no further question after these seconds, once it has asked so many, and none after the longer time.
LONGEST_VISIT, FEWEST, SLOWEST_VISIT = 0.5, 5, 2.0
# Seconds of visits after which a configuration, whose index may take long to open, has no further round than these.
BUDGET, FEWEST_ROUNDS = 10.0, 2
_VERSION = 2
# The stages whose results decide what a question costs.
_STAGES = ("queries", "rewritten", "rewritten_vectors", "feedback", "hits", "reranked")
# The names of searches in `timings`.
_SEARCHES = {"ann": "chroma"}
Say = Callable[[str], None]
Step = Callable[[int], object]
# The seconds of embedding each question in a round, by embedder and rewriter.
Embedded = dict[tuple[Embedder | None, Rewriter | None], dict[int, float]]


@dataclass(frozen=True)
class Visit:
    """The seconds of a visit: `cold` from opening the index to the end of the first question, and each step of each question by name.

    The step `question` is the sum of those that a question needs.
    """

    cold: float
    steps: Mapping[str, Sequence[float]]

    @property
    def questions(self) -> int:
        return len(self.steps["question"])


def latencies_of(graph: Graph, results: Sequence[StageResults], say: Say) -> dict[str, Mapping[str, float]]:
    """Return the latencies by configuration, from the outputs if the same configurations were measured together before.

    They are measured again together, because only times of one pass can be compared. A configuration that cannot be measured has none.
    """
    asked: dict[str, Mapping[str, float]] = {
        each.configuration.name: target_latencies(each) for each in results if "responses" in each.entries
    }
    own = [each for each in results if each.configuration.name not in asked]
    if not own:
        return asked
    key = latency_key(graph, [each.configuration for each in own])
    entry = graph.run.workspace.local_store.obtain(LATENCY, key, partial(_measure_into, graph, own, say))
    return {**asked, **entry.values(LATENCY)}


def target_latencies(result: StageResults) -> dict[str, float]:
    """Return the milliseconds of a target's replies as they came, with those of other requests at the same time."""
    seconds = result.entry("responses").values("seconds")
    times = seconds.get("search") or seconds.get("answer") or []
    if not times or not all(target.timed for target in result.configuration.targets):
        return {}
    found = {f"latency_question_p{percent}": float(np.percentile(times, percent) * 1000) for percent in (50, 95)}
    return {"latency_questions": float(len(times)), **found}


def _measure_into(graph: Graph, results: Sequence[StageResults], say: Say, writer: ResultWriter) -> None:
    say(f"latency: {plural(len(results), 'configuration')} in {ROUNDS} rounds, one question at a time")
    measured, failures = measure(graph, results)
    for name, line in failures.items():
        say(f"latency of {name} is not known: {line}")
    writer.values(LATENCY, measured)


def is_measured(graph: Graph, configurations: Sequence[Configuration]) -> bool:
    """Return True if the latencies of these configurations together are in the outputs. Those of targets are those of their replies."""
    return all(each.targets for each in configurations) or graph.run.workspace.local_store.has(LATENCY, latency_key(graph, configurations))


def latency_key(graph: Graph, configurations: Sequence[Configuration]) -> str:
    """Return the key of the latencies of configurations, which are measured together."""
    own = [each for each in configurations if not each.targets]
    keys = [[each.name, *(graph.key(node) for node in graph.nodes(each, _STAGES))] for each in own]
    return fingerprint(LATENCY, _VERSION, ROUNDS, keys)


def measure(graph: Graph, results: Sequence[StageResults]) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Visit all configurations once for warming up, then in several rounds, each in another random order.

    Return the milliseconds of each configuration by name, and the errors of those that failed.
    """
    random, visits, failures = np.random.default_rng(SEED), dict[str, list[Visit]](), dict[str, str]()
    spent, counts = defaultdict[str, float](float), dict[str, int]()
    inputs = {
        each.configuration.name: Inputs(graph.run, each.configuration, each.entries, Node("hits", each.configuration), "", list)
        for each in results
    }
    with ProgressBar(total=(ROUNDS + 1) * len(results), desc=LATENCIES, unit="visits") as bar:
        for number in range(ROUNDS + 1):
            embedded: Embedded = {}
            for place in random.permutation(len(results)):
                name = results[place].configuration.name
                bar.update()
                if name in failures or (len(visits.get(name, ())) >= FEWEST_ROUNDS and spent[name] > BUDGET):
                    continue
                started = time.perf_counter()
                try:
                    before = visits.setdefault(name, [])
                    visit = _visit(inputs[name], counts.get(name) if number else 1, embedded)
                    before += [visit] if number else []
                except Exception as error:  # a configuration that cannot be timed has results all the same
                    failures[name] = error_line(error)
                    visits.pop(name, None)
                spent[name] += time.perf_counter() - started
            if number == 1:
                # The first round decides how many questions are timed, since times of different questions cannot be compared.
                counts = _counts({name: found[0].questions for name, found in visits.items()}, len(graph.run.dataset.queries))
    return {name: _milliseconds(found, counts[name]) for name, found in visits.items() if found}, failures


def _counts(asked: Mapping[str, int], questions: int) -> dict[str, int]:
    """Return how many questions to time of each configuration: the fewest of any, but slow ones have fewer still."""
    enough = [count for count in asked.values() if count >= min(FEWEST, questions)]
    return {name: min([count, *enough]) for name, count in asked.items()}


def _visit(inputs: Inputs, count: int | None, embedded: Embedded) -> Visit:
    """Open the index, answer the first question, then time the first `count` questions; None for as many as a visit has time for.

    The time to embed a question is taken from `embedded`, where an earlier visit of the round has measured it.
    """
    started = time.perf_counter()
    corpus, most, seconds = corpus_of(inputs), count or QUESTIONS, list[dict[str, float]]()
    with ExitStack() as stack:
        steps = stack.enter_context(_steps(inputs, corpus, most, 1))
        _ask(steps, 0, {})
        cold = time.perf_counter() - started
        if inputs.configuration.rerank:
            # A reranker needs what each question finds.
            steps = stack.enter_context(_steps(inputs, corpus, most, None))
        known = embedded.setdefault((inputs.configuration.embedding, inputs.configuration.rewrite), {})
        started = time.perf_counter()
        for place in range(min(most, len(inputs.run.dataset.queries))):
            seconds.append(_ask(steps, place, known))
            spent = time.perf_counter() - started
            if count is None and spent > (LONGEST_VISIT if place + 1 >= FEWEST else SLOWEST_VISIT):
                break
    return Visit(cold, {name: [each[name] for each in seconds] for name in seconds[0]})


def _ask(steps: Mapping[str, tuple[Step, bool]], place: int, embedded: dict[int, float]) -> dict[str, float]:
    """Time the steps of one question, and add those that a question needs. `embedded` has the seconds of embedding by question."""
    spent, question = {}, 0.0
    for name, (step, needed) in steps.items():
        if name == EMBED and place in embedded:
            spent[name] = embedded[place]
        else:
            started = time.perf_counter()
            step(place)
            spent[name] = time.perf_counter() - started
        question += spent[name] if needed else 0.0
    if EMBED in spent:
        embedded[place] = spent[EMBED]
    return {"question": question, **spent}


@contextmanager
def _steps(inputs: Inputs, corpus: Corpus, most: int, ranked: int | None) -> Iterator[dict[str, tuple[Step, bool]]]:
    """Yield the steps of the first questions by name, and whether the configuration needs it: a second search beside its own it does not.

    `ranked` is how many of the questions are ranked (`SearchDepth.queries`).
    """
    configuration = inputs.configuration.pipeline
    retriever, reranker = configuration.retrieval, configuration.rerank
    asked = searched_queries(inputs).first(most)
    texts = original_queries(inputs).some(np.arange(min(most, len(inputs.run.dataset.queries))))
    depth = SearchDepth(max(retriever.k, reranker.pool if reranker else 0), 0, 1, queries=ranked)
    rankings = asked.searches(retriever, corpus, depth)
    steps = {**_rewriting(inputs, texts, corpus), **_embedding(inputs, texts, asked)}
    with ExitStack() as stack:
        for name, ranking in rankings.items():
            single = ranking.single
            # A retriever may have no search of a single query.
            step = stack.enter_context(single()) if single else lambda place: search(retriever, asked.of(place), corpus, depth)
            steps[_SEARCHES.get(name, name)] = (step, name == retriever.evaluated)
        if reranker:
            steps["rerank"] = (_reranking(reranker, rankings[retriever.evaluated], texts, corpus), True)
        yield steps


def _rewriting(inputs: Inputs, texts: QueryBatch, corpus: Corpus) -> dict[str, tuple[Step, bool]]:
    """Return the step that rewrites a question, empty without one and if its time for a new question is not known."""
    rewriter, retriever, questions = inputs.configuration.rewrite, inputs.configuration.pipeline.retrieval, inputs.run.dataset.queries
    if isinstance(rewriter, FeedbackRewriter):
        return {"rewrite": (lambda place: list(expanded_queries(rewriter, texts.some(np.array([place])), retriever, corpus)), True)}
    if isinstance(rewriter, TextRewriter) and rewriter.is_live:
        return {"rewrite": (lambda place: rewriter.rewrite([questions[place]]), True)}
    return {}


def _embedding(inputs: Inputs, texts: QueryBatch, asked: SearchedQueries) -> dict[str, tuple[Step, bool]]:
    """Return the step that embeds a question, or what it was rewritten as."""
    embedder = inputs.configuration.embedding
    if embedder is None:
        return {}
    if not isinstance(inputs.configuration.rewrite, TextRewriter):
        return {EMBED: (lambda place: embedder.encode([texts.texts[place]], "query"), True)}

    def embed(place: int) -> None:
        for role, some in asked.texts_of(place).items():
            embedder.encode(some, role)

    return {EMBED: (embed, True)}


def _reranking(reranker: Reranker, ranking: Ranking, asked: QueryBatch, corpus: Corpus) -> Step:
    hits = ranking.hits[ranking.hits["rank"] <= reranker.pool].sort_values(["query", "rank"])
    pools = candidates(hits, asked, corpus, reranker)
    return lambda place: reranker.scores([pools[place]], MemoryVectorCache()) if place in pools else None


def _milliseconds(visits: Sequence[Visit], questions: int) -> dict[str, float]:
    """The median and 95th percentile over questions of each step, as the median over the rounds with the range, and the cold start."""
    latencies = {"latency_questions": float(questions)}
    for step in visits[0].steps:
        seconds = np.array([visit.steps[step][:questions] for visit in visits])
        for percent in (50, 95):
            latencies |= _ranged(f"latency_{step}_p{percent}", np.percentile(seconds, percent, axis=1))
    return latencies | _ranged("latency_cold", np.array([visit.cold for visit in visits]))


def _ranged(name: str, seconds: Floats) -> dict[str, float]:
    milliseconds = 1000 * seconds
    latency = {name: float(np.median(milliseconds))}
    return latency | ({f"{name}_low": float(milliseconds.min()), f"{name}_high": float(milliseconds.max())} if len(seconds) > 1 else {})
