"""A room of the analysis that nobody needs: the share of ratings that are the highest answer given."""
