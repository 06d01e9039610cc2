"""The pages of the dashboard, one module each; ``show`` draws it."""
