"""`holdfast chat`: a conversation in which one reads, types and answers at the same time."""
