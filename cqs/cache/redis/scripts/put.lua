-- parts: fair standard fifo line entries
-- New messages, ready or delayed. Known and lately removed ones are left alone.
-- Keys: state, meta, hidden, due, body, tomb (read), the line's, cqs:vesting.
-- ARGV: for each message address, standing, meta, body ('' = not kept). A standing is '0' (ready, never received) or
-- "visible_ms is_flight number count first_ms". Returns the residency a|i|r.

use(KEYS[1])
local s = open()
if not s then
  return 'a'
end
local fresh = read_entries(s, 4)
if #fresh > 0 then
  local line = line_of(s)
  keep_entries(s, line, fresh)
  local ready, delayed = {}, {}
  for _, m in ipairs(fresh) do
    local side = m.visible > now and delayed or ready
    side[#side + 1] = m
  end
  add_delayed(s, delayed)
  add_ready(s, line, ready, line.join)
  line.save()
  close(s)
end
return s.residency
