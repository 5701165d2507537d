"""Sentences that several topics, the head of the page and other rooms share."""
