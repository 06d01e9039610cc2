"""A local counterpart of the Prolific API: its states, its money and its people, on this machine and without pay."""
