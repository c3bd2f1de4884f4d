-- Makes `line`, the line of the shard `s`: what stands ready in it, and in which order. The three kinds have one face:
--
--        join ──► │                  │ ──► next, start ──► in flight ──► finish
--      rejoin ──► │       line       │ ◄────────────────── undo ◄──┘
--        fill ──► │                  │ ──► leave
--
-- join, rejoin and fill take lists of records, each in its order; rejoin puts them in front (FIFO: in their places).
-- next(n) takes out up to n records, of which the caller starts or forgets each before it asks again; nil = none is
-- left, or, with is_unfinished, too much that is stale stood in front. save writes what the line kept to itself.

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
