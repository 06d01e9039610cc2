"""A study from files of outputs: what is found in them, and the study file it becomes."""
