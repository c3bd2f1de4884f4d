"""The subcommands of `cqs`, one per file, each imported only when it runs."""
