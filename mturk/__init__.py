"""HITs over the MTurk protocol, for endpoints that speak it."""
