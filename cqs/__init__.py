"""CQS, a queue server that speaks the Amazon SQS API. This folder holds the core types, and each layer has its own
folder (docs/architecture.md).
"""

__version__ = "0.1.0"
