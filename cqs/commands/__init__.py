"""The subcommands of `cqs`, one a file, each imported only when it is run."""
