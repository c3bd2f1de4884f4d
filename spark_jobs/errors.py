"""What stops a job, said so that a person can act on it."""

from __future__ import annotations


class JobError(Exception):
    """One line; shown without a traceback."""


class NoJournal(JobError):
    """There is no folder, or nothing in it."""


class UnknownVersion(JobError):
    """The journal was written by another version, whose meaning this one would have to guess."""


class BadWorkload(JobError):
    """A workload that can't be played."""


class EndpointFailed(JobError):
    """A server that is played against refuses, or does not answer any more."""
