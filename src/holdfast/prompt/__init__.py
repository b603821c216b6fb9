"""Every text that a model is shown, and the order of its sources.

    system.py     the system prompt
    sources.py    the order, and what a feature implements to add a text
    workspace.py  instructions and skills of a workspace
    agents.py     instructions for agents that were not started by a person
    modes.py      what a model is told when the mode of its chat changes
    notices.py    notices in history
    summaries.py  requests for summaries and titles
    history.py    committed history as the messages of a request
    segments.py   a request in segments: what it is made of
    drift.py      whether the instructions in history are still those on disk
    workflows.py  what a model is told of workflows that a person started in its chat

Two kinds of text live elsewhere. A tool's own texts (description, errors) belong to the tool. Synthetic
results of calls are written by the state machine (`chats/synthetic.py`).
"""
