"""A rater on a Dask cluster: a coordinator hands batches of visits to workers, which ask and store by themselves."""
