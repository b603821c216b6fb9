"""What a model may do: the contract every tool keeps, who may run it, and the tools that need no
workspace."""
