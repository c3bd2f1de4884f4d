-- include: common moves
-- Undoes takes: the messages are ready again in their old place, not counted. Skips leases that are not current.
-- Keys: state, meta, hidden, due, the line's, cqs:vesting.
-- ARGV: address and receive number of each. Returns how many.

use(KEYS[1])
local s = open()
if not s then
  return 0
end
-- include: line
local count = 0
for i = #ARGV - 1, 5, -2 do
  local m = load({ ARGV[i] })[1]
  if m and is_living(m, ARGV[i + 1]) then
    m.ends, m.count = 0, math.max(0, m.count - 1)
    m.first = m.count > 0 and m.first or 0
    call('ZREM', DUE, m.address)
    call('HSET', HIDDEN, m.address, lease_text(m))
    expect_expiry(s, m)
    line.undo(m)
    count = count + 1
  end
end
line.save()
s.freed = count
close(s)
return count
