"""Flows: declared graphs of agents, code, approvals and switches."""
