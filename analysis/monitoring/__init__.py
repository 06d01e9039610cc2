"""What a reviewer watches while answers come in: alarms, annotators' profiles, single items."""
