"""What a worker holds by lease. `worker` keeps the lease and has a list of duties; `duty` is what all of them
share; each kind (chats, runs of workflows) is one class beside what it drives."""
