"""Studies, submissions and payments on Prolific."""
