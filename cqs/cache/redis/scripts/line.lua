-- Makes `line`, the line of the shard `s`: its ready messages and their order. All three kinds have one interface:
--
--        join ──► │                  │ ──► next, start ──► in flight ──► finish
--      rejoin ──► │       line       │ ◄────────────────── undo ◄──┘
--        fill ──► │                  │ ──► leave
--
-- join, rejoin and fill take lists of records in order; rejoin puts them at the front (FIFO: at their positions).
-- next(n) takes out up to n records; the caller starts or forgets each before the next call. nil = none is left or,
-- with is_unfinished, too many stale items were in front. save writes what the line had kept in memory.
-- head is roughly the message that has waited longest, and whether that is not known because too many stale items were
-- in front of it.
-- standing counts the items of the line, stale ones included: one at least for each ready message.

local line
if s.is_fifo then
  -- include: fifo
  line = fifo_line(s)
else
  -- include: plain
  line = plain_line(s)
  if s.is_fair then
    -- include: fair
    line = fair_line(line)
  end
end
