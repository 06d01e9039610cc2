"""A server of the MTurk requester protocol of 2017-01-17 with a worker site, for a lab's own annotators."""
