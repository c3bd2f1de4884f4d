"""The event journal: what happened to every message, as lines of JSON in files that Spark reads (`cqs.events`).

    event loop                                  recorder process, in idle time
    ──────────                                  ───────────────────────
    Journal (a Witness) ──► Buffer ── frames ──► Recorder: text, number, checksum
                            bounded                         │
                                                            ▼
                                    NODE.START.INCARNATION.FILE.jsonl.open
                                                            │ full or old enough: closing line
                                                            ▼
                                    ….jsonl.gz     (durable, then renamed)

A request never waits for it and never fails for it. What does not fit into the buffer, was at a recorder that died, or
is lost to a full disk is counted, and the count becomes a line. What was on its way at `kill -9` of the server is lost,
and seen to be: that file has no closing line. Numbers are given when a line is written, so that they have no gap but a
real one.

journal.py, rows.py, buffer.py and recorder_process.py are the server's part; recording.py, recorder.py, lines.py and
columns.py the recorder's, with writer.py and files.py; calls.py is what goes between the two, and blocks.py reads lines
of text again. Nothing is imported here: the recorder's process needs only its own.
"""
