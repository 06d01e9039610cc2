"""Archives of old studies: result files of the requester site and answers of its API become tidy tables."""
