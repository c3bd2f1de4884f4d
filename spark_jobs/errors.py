"""Errors that stop a job, worded so that a person can act on them."""

from __future__ import annotations


class JobError(Exception):
    """One line, shown without a traceback."""


class NoJournal(JobError):
    """The folder does not exist or contains no journal."""


class UnknownVersion(JobError):
    """The journal was written by another version, whose format this one does not know."""


class BadWorkload(JobError):
    """A workload that can't be played."""


class EndpointFailed(JobError):
    """A server under test refuses calls, or no longer answers."""
