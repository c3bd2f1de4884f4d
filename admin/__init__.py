"""The web console at /ADMIN, built on the same service layer as the API."""
