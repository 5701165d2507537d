"""Label claims and answers."""
