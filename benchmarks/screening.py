"""How often screening keeps the true best, and what it saves: real sets, the truth being the whole sweep with the real embedder."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sweep import write_part
from workbench.data.sources import BeirSource
from workbench.experiment.run import run_experiment
from workbench.experiment.spec import experiment_of

HANDBOOK = Path(__file__).parents[1] / "experiments" / "handbook"
SMALL = [
    {"kind": "fixed", "size": [32, 64, 128, 192, 256]},
    {"kind": "fixed", "size": [64, 128], "overlap": 32},
    {"kind": "fixed", "size": 256, "overlap": [64, 128]},
    {"kind": "recursive", "size": [64, 128, 256]},
    {"kind": "sentence", "size": [64, 128, 256]},
    {"kind": "hierarchical", "child": 32, "parent": 128},
    {"kind": "hierarchical", "child": [64, 128], "parent": 256},
    {"kind": "fixed", "size": 128, "enrich": True},
    {"kind": "sentence", "size": 128, "enrich": True},
]
CHROMA = [
    {"kind": "fixed", "size": [50, 100, 200], "tokens": "cl100k"},
    {"kind": "fixed", "size": 250, "overlap": [0, 125], "tokens": "cl100k"},
    {"kind": "fixed", "size": 400, "overlap": [0, 200], "tokens": "cl100k"},
    {"kind": "recursive", "size": [50, 100, 200], "tokens": "cl100k"},
    {"kind": "recursive", "size": 250, "overlap": [0, 125], "tokens": "cl100k"},
    {"kind": "recursive", "size": 400, "overlap": [0, 200], "tokens": "cl100k"},
    {"kind": "sentence", "size": [128, 256]},
    {"kind": "hierarchical", "child": 128, "parent": 512},
]
