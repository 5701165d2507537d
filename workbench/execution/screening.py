"""Rank many configurations cheaply, put aside those that are far behind, and leave the rest to be run in full."""

from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.core.fingerprint import fingerprint
from workbench.embedding.base import NO_WINDOW, Embedder
from workbench.embedding.sentence_transformers import SentenceTransformersEmbedder
from workbench.embedding.static import StaticEmbedder
from workbench.embedding.torch_model import model_settings
from workbench.errors import InputError, StoreError, WorkbenchError
from workbench.execution.local import Say, context_of, primary_of
from workbench.execution.result import Result
from workbench.experiment.read import Experiment
from workbench.metrics.coverage import Floats
from workbench.models.files import MINILM
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.graph import Graph
from workbench.records import Dataset
from workbench.retrieval.base import Retriever
from workbench.retrieval.dense import DenseRetriever
from workbench.statistics.clusters import query_clusters
from workbench.statistics.screening import MARGIN, Screened, Screening, screened
from workbench.statistics.verdict import FEWEST_QUERIES
from workbench.storage.result_store import Draft

VERSION = 1
SEED = 6
QUERIES = 200
FEWEST = 3
FILE = "screening.parquet"
_KIND = "screenings"


@dataclass(frozen=True)
class Proxies:
    """An experiment's configurations by name, each as its proxy in `cheap`, on a sample of its `of` answerable questions."""

    experiment: Experiment
    graph: Graph
    of: int
    cheap: dict[str, Configuration]

    @cached_property
    def own(self) -> dict[str, Configuration]:
        """The configurations themselves."""
        return {one.name: one for one in self.experiment.configurations}

    @cached_property
    def keys(self) -> dict[str, str]:
        """What each proxy's scores are called in the store: those with one key cannot be told apart."""
        return {name: self._key(one) for name, one in self.cheap.items()}

    def _key(self, configuration: Configuration) -> str:
        return fingerprint([self.graph.key(node) for node in self.graph.nodes(configuration, ["scores"])])

    @property
    def run(self) -> RunContext:
        """The sample of the questions, and the metric that decides."""
        return self.graph.run

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The names that may be compared by proxy: of one embedder and one kind of retrieval.

        A proxy is worse than its embedder by an amount of its own, and BM25, its own proxy, by nothing.
        """
        found: dict[str, list[str]] = defaultdict(list)
        for name, one in self.own.items():
            found[fingerprint(one.embedding.model_dump() if one.embedding else None, one.retrieval.kind)].append(name)
        return tuple(map(tuple, found.values()))

    @cached_property
    def alike(self) -> tuple[tuple[str, ...], ...]:
        """The names of those that differ only by what their proxy does not see."""
        found: dict[str, list[str]] = defaultdict(list)
        for name, key in self.keys.items():
            found[key].append(name)
        return tuple(tuple(names) for names in found.values() if len(names) > 1)

    @property
    def key(self) -> str:
        """All that decides the screening; nothing is computed for it but hashes."""
        return fingerprint("screening", VERSION, self.keys, self.groups, self.experiment.baseline, MARGIN)

    def told(self, name: str) -> str:
        """What a configuration is screened by."""
        embedder = self.cheap[name].embedding
        if embedder is None or embedder == self.own[name].embedding:
            return "the configuration itself"
        return f"{embedder.kind} embeddings of {embedder.model}"


def screen(experiment: Experiment, outputs: Path, say: Say, queries: int = QUERIES) -> Experiment:
    """The experiment without the configurations that are far behind by proxy; its `screening` says which, and by how much.

    The proxies run through the ordinary stages, so what is in the store is not computed again. Where there is nothing to screen, that
    is said and the experiment comes back as it is. InputError for fewer than 30 queries.
    """
    if queries < FEWEST_QUERIES:
        raise InputError(f"{queries} queries are too few to screen by", f"give --screen-queries {FEWEST_QUERIES} or more")
    proxies = proxies_of(experiment, outputs, queries)
    if nothing := _nothing(proxies):
        say(f"nothing is screened out: {nothing}")
        return experiment

    def compute(draft: Draft) -> None:
        draft.values("screening", _screening(proxies, say).as_json())

    entry = proxies.run.workspace.store.obtain(_KIND, proxies.key, compute)
    return _without(experiment, Screening.of_json(entry.values("screening")))


def as_screened(experiment: Experiment, outputs: Path) -> Experiment:
    """The experiment as its last sweep left it: without what that screened out; as it is where nothing was, or of another experiment."""
    path = outputs / experiment.name / FILE
    if not path.is_file():
        return experiment
    proxies = proxies_of(experiment, outputs, int(pd.read_parquet(path)["queries"].iloc[0]))
    entry = proxies.run.workspace.store.get(_KIND, proxies.key)
    return _without(experiment, Screening.of_json(entry.values("screening"))) if entry else experiment


def proxies_of(experiment: Experiment, outputs: Path, queries: int) -> Proxies:
    """The proxies of an experiment, on a seeded sample of so many answerable questions, or all where there are fewer."""
    whole = context_of(experiment, outputs)
    answerable = [place for place, query in enumerate(whole.dataset.queries) if query.answerable]
    chosen = np.sort(np.random.default_rng(SEED).permutation(answerable)[:queries])
    sample, primary = _only(whole.dataset, chosen.tolist()), primary_of(experiment, whole.dataset)
    graph = Graph(replace(whole, dataset=sample, metrics=(primary,), indexed=False, primary=None))
    return Proxies(experiment, graph, len(answerable), {one.name: proxy_of(one) for one in experiment.configurations})


def proxy_of(configuration: Configuration) -> Configuration:
    """The configuration with static embeddings, as wide as its embedder's window; itself where it embeds nothing, or so already.

    They are distilled from the same model where that is one of sentence-transformers, else from all-MiniLM-L6-v2.
    """
    embedder, exactly = configuration.embedding, replace(configuration, retrieval=_exact(configuration.retrieval))
    if embedder is None or isinstance(embedder, StaticEmbedder):
        return exactly
    usual = StaticEmbedder(model=embedder.model if isinstance(embedder, SentenceTransformersEmbedder) else MINILM)
    hidden = model_settings(usual.model, "config.json").get("hidden_size", usual.dimensions)
    fitting = {"dimensions": min(usual.dimensions, hidden), "max_tokens": _content(embedder)}
    return replace(exactly, embedding=usual.model_copy(update=fitting))


def screening_table(screening: Screening) -> pd.DataFrame:
    """configuration, proxy, queries, metric, value, first, difference (to the first), low, high, kept."""
    table = pd.DataFrame([asdict(row) for row in screening.rows])
    table.insert(2, "queries", screening.queries)
    table.insert(3, "metric", screening.metric)
    return table


def _content(embedder: Embedder) -> int | None:
    """The tokens of its window that are left to the text: a proxy has no special tokens and no prompt."""
    window = embedder.window()
    return max(8, window - int(embedder.lengths([""], "document")[0])) if window < NO_WINDOW else None


def _exact(retrieval: Retriever) -> Retriever:
    """Proxies have no index."""
    return retrieval.model_copy(update={"search": "exact"}) if isinstance(retrieval, DenseRetriever) else retrieval


def _only(dataset: Dataset, places: list[int]) -> Dataset:
    queries = tuple(dataset.queries[place] for place in places)
    ids = {query.query_id for query in queries}
    qrels = tuple(qrel for qrel in dataset.qrels if qrel.query_id in ids)
    return replace(dataset, queries=queries, qrels=qrels, needs=tuple(need for need in dataset.needs if need.query_id in ids))


def _nothing(proxies: Proxies) -> str:
    """Why there is nothing to screen; empty where there is."""
    configurations, queries = len(proxies.own), len(proxies.run.dataset.queries)
    if configurations < FEWEST:
        return f"screening takes {FEWEST} configurations, and there are {configurations}"
    if queries < FEWEST_QUERIES:
        return f"screening takes {FEWEST_QUERIES} answerable questions, and there are {queries}"
    if all(len(group) == 1 for group in proxies.groups):
        return "no two configurations share embedder and retrieval, and a proxy cannot compare others"
    return ""


def _screening(proxies: Proxies, say: Say) -> Screening:
    """Run the proxies and decide, group by group; what has no proxy that runs is kept."""
    run, baseline = proxies.run, proxies.experiment.baseline
    spared = {name for name, key in proxies.keys.items() if baseline is not None and key == proxies.keys[baseline]}
    found = _values(proxies, say)
    rows: dict[str, Screened] = {}
    for group in proxies.groups:
        values = {name: found[name][0] for name in group}
        cut = {name for name in group if found[name][1]}
        made = screened(
            values,
            query_clusters(run.labels),
            proxies={name: proxies.told(name) for name in group},
            spared=spared,
            never_first=cut,
            higher_is_better=run.metrics[0].higher_is_better,
        )
        rows |= {row.configuration: row for row in made}
    ordered = tuple(rows[name] for name in proxies.own)
    return Screening(str(run.metrics[0]), len(run.dataset.queries), proxies.of, MARGIN, SEED, ordered, proxies.alike)


def _values(proxies: Proxies, say: Say) -> dict[str, tuple[Floats, bool]]:
    """Each proxy's values (queries) by name, and whether its window cuts chunks, which leaves nothing to compare the chunking by."""
    metric, queries, found = str(proxies.run.metrics[0]), proxies.run.labels.queries, {}
    for number, (name, cheap) in enumerate(proxies.cheap.items(), 1):
        try:
            result = Result(cheap, proxies.graph.walk(cheap))
        except StoreError:
            raise
        except Exception as error:  # whatever it is, the configuration itself will say it, or will run
            said = f"has no proxy ({error.what if isinstance(error, WorkbenchError) else type(error).__name__}) and is run in full"
            found[name] = (np.full(queries, np.nan), False)
        else:
            found[name] = (_values_of(result, metric), bool(result.truncated.any()))
            said = result.computed_stages
        say(f"screening [{number}/{len(proxies.cheap)}] {name}: {said}")
    return found


def _values_of(result: Result, metric: str) -> Floats:
    scores = result.scores_table
    return scores[scores["metric"] == metric].sort_values("query")["value"].to_numpy(np.float64)


def _without(experiment: Experiment, screening: Screening) -> Experiment:
    dropped = {row.configuration for row in screening.dropped}
    kept = tuple(one for one in experiment.configurations if one.name not in dropped)
    return replace(experiment, configurations=kept, screening=screening)
