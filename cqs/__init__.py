"""CQS: a queue server that speaks Amazon SQS. The nouns live here, each layer in a folder (docs/architecture.md)."""

__version__ = "0.1.0"
