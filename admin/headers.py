"""The security headers of every answer: nothing loads from other sites, only our scripts run, nothing is cached.

Referrer-Policy is same-origin: no other site learns an address. The stricter no-referrer would make browsers send
`Origin: null` with our own forms, which is indistinguishable from a forged one.
"""

from __future__ import annotations

from aiohttp import web

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox"
"""For audit reports: pages written by jobs. They may contain styles and embedded pictures, and are otherwise sandboxed:
no scripts, no forms, no origin."""

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def secure(response: web.StreamResponse) -> None:
    """Adds the missing headers; a page may have set a policy of its own."""
    if response.prepared:
        return
    for name, value in _ALWAYS.items():
        response.headers.setdefault(name, value)
    response.headers["Server"] = "cqs"
    response.headers.setdefault("Content-Security-Policy", POLICY)
    response.headers.setdefault("Cache-Control", "no-store")
