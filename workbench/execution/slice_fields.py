"""The fields of a question that define slices."""

import json
from typing import Any

from workbench.records import Query
from workbench.results.run_tables import WHERE


def slice_fields(query: Query) -> dict[str, Any]:
    """Return a query's metadata with its filter as the field `where`, so that filters are shown and define slices as the others do."""
    return ({WHERE: json.dumps(dict(query.where), ensure_ascii=False)} if query.where else {}) | dict(query.metadata)
