"""Members of the axes that nobody needs: a test puts each into its registry, and no product file knows them."""
