"""Where a dataset comes from: one frozen value a kind, the `dataset:` of an experiment."""

from abc import ABC, abstractmethod
from typing import Literal

from pydantic import BaseModel, ConfigDict

from workbench.data.beir import read_beir
from workbench.data.checks import dataset_of
from workbench.data.draft import Draft
from workbench.data.golden import read_golden
from workbench.data.nfcorpus import read_nfcorpus
from workbench.errors import InputError
from workbench.paths import expand
from workbench.records import Dataset


class Source(BaseModel, ABC):
    """A dataset's place and the part of it that is used; `split` None takes every question."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: str
    split: str | None = None

    @abstractmethod
    def draft(self) -> Draft:
        """Everything that is there, with its faults."""

    def load(self) -> Dataset:
        """The dataset; DatasetError with every fault if it has any."""
        try:
            return dataset_of(self.draft())
        except OSError as error:
            raise InputError(f"{error.filename} cannot be read ({error.strerror})", "give a readable file or folder") from error


class GoldenSource(Source):
    """The project's own format: a folder or a JSON file; `documents` names them where they are not inside."""

    kind: Literal["golden"] = "golden"
    path: str
    documents: str | None = None

    def draft(self) -> Draft:
        """Everything that is there, with its faults."""
        return read_golden(expand(self.path), expand(self.documents) if self.documents else None, self.split)


class ListSource(Source):
    """A plain JSON list of {query, relevant_doc_ids, irrelevant_doc_ids} and the documents it is about."""

    kind: Literal["list"] = "list"
    path: str
    documents: str

    def draft(self) -> Draft:
        """Everything that is there, with its faults."""
        return read_golden(expand(self.path), expand(self.documents), self.split)


class BeirSource(Source):
    """A BEIR folder."""

    kind: Literal["beir"] = "beir"
    path: str
    split: str | None = "test"

    def draft(self) -> Draft:
        """Everything that is there, with its faults."""
        return read_beir(expand(self.path), self.split)


class NfcorpusSource(Source):
    """NFCorpus; without a path from WORKBENCH_DATA, the cache or the network. `subset: five` keeps the five named queries."""

    kind: Literal["nfcorpus"] = "nfcorpus"
    path: str | None = None
    split: str | None = "test"
    subset: Literal["five"] | None = None

    def draft(self) -> Draft:
        """Everything that is there, with its faults."""
        return read_nfcorpus(expand(self.path) if self.path else None, self.split, self.subset == "five")


SOURCES: dict[str, type[Source]] = {"golden": GoldenSource, "list": ListSource, "beir": BeirSource, "nfcorpus": NfcorpusSource}


def recognise(path: str, split: str | None, documents: str | None) -> Source:
    """The source that a path looks like: a BEIR folder has a corpus.jsonl, everything else is golden or a list."""
    place = expand(path)
    if not place.exists():
        raise InputError(f"the dataset {path} does not exist", "give the path of a folder or a JSON file")
    if (place / "corpus.jsonl").exists():
        return BeirSource(path=path, split=split)
    return GoldenSource(path=path, documents=documents, split=split)
