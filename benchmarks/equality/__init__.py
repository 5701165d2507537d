"""Tables of two checkouts, compared cell by cell."""
