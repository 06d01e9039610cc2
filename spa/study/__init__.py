"""What is asked: study file, outputs, assignments, blinding."""
