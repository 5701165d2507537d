"""The foundation of every room: records, errors, the columns of tables, fingerprints, files, components and their registries.

`records` are what stages exchange, `errors` the exceptions, `schemas` the tables of a run. `text/` formats and prints, `storage/` keeps results and
items under keys. Any room imports from here; `core` imports from none.
"""
