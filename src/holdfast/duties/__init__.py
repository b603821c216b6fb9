"""What a worker holds by lease. `worker` keeps the lease and has a list of duties; `duty` is what all of them
share; each kind (chats, workflow runs) is one class next to the code that it drives."""
