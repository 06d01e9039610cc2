"""Importing archives of earlier MTurk studies: results of the requester site or its API become tidy tables."""
