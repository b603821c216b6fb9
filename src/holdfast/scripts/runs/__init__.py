"""Durable runs of workflow scripts: starting them, driving them under a lease, ending them."""
