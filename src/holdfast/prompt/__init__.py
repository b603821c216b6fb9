"""From committed history to the request a model gets."""
