"""Figures of a report computed again by scipy, statsmodels and choix, in a process of its own.

Rooms say which of their figures a library can compute, of which numbers (:mod:`analysis.verification.claims`); here is
one function for each call of a library, and what is done with the answers.
"""
