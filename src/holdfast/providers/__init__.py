"""Model providers: a request in our format becomes a streamed answer in our format, whichever provider gives
it. Nothing here retries: one failed attempt is one raised `AttemptFailed`, and the worker decides what
follows."""
