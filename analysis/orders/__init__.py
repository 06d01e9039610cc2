"""Orders of several outputs: Plackett-Luce strengths, concordance, the effect of the place on the page."""
