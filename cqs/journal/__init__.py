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

No request ever waits for the journal or fails because of it. Events that do not fit into the buffer, were at a recorder
that died, or are lost to a full disk are counted, and the count becomes a line. Events in transit at `kill -9` of the
server are lost, and detectably so: that file has no closing line. Numbers are assigned when a line is written, so any
gap in them means lost events.

journal.py, fields.py, buffer.py and recorder_process.py are the server's part; recording.py, recorder.py, lines.py,
columns.py, writer.py and files.py the recorder's. calls.py is the protocol between the two, and blocks.py parses lines
of text. This module imports nothing: the recorder's process needs only its own part.
"""
