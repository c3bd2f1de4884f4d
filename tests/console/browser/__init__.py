"""Tests with a real browser; a package, so that Chromium ends before other tests begin."""
