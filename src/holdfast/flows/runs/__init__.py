"""Runs of flows: how they begin, who drives them, what people say to them."""
