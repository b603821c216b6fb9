"""What is measured: each module lists the cases of one workload."""
