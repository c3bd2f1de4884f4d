-- include: common entries
-- New messages, ready or delayed. Known and lately removed ones are left alone.
-- Keys: state, meta, hidden, due, body, tomb (read), the line's, cqs:vesting.
-- ARGV: messages, see entries.lua. Returns the residency a|i|r.

use(KEYS[1])
local s = open()
if not s then
  return 'a'
end
local fresh = read_entries(s, 5)
if #fresh > 0 then
  keep_entries(s, fresh)
  -- include: line
  local ready, delayed = {}, {}
  for _, m in ipairs(fresh) do
    local side = m.visible > now and delayed or ready
    side[#side + 1] = m
  end
  add_delayed(s, delayed)
  add_ready(s, ready, line.join)
  line.save()
  s.freed = #ready
  close(s)
end
return s.residency
