"""Ways to refuse in seven languages, as regular expressions on lower-case clauses."""
