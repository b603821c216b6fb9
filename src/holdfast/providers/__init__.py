"""Model providers: a request in our words becomes a streamed answer in our words, whoever gives it. Nothing
here retries: one failed attempt is one raised `AttemptFailed`, and the worker decides what follows."""
