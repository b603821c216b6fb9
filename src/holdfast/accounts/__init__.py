"""Who somebody is and what they may do: sign-in, tokens, people, and secrets at rest."""
