"""A durable endpoint that speaks the MTurk requester protocol of 2017-01-17, for a lab's own annotators."""
