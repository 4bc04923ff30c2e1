"""The `forkpoint` command. It holds no rules: it reads arguments, calls the library, and prints."""

from forkpoint.cli.app import app, main

__all__ = ["app", "main"]
