"""Pure functions of arrays: t-tests, corrections, effect sizes, bootstrap, orders."""
