-- include: common
-- Which of the leases are current; those are extended to at least hold_ms from now.
-- Keys: state, meta, hidden, due, cqs:vesting.
-- ARGV: hold_ms, then address and receive number of each. Returns done|gone|stale for each, or nothing when absent.

local hold = tonumber(ARGV[5])

use(KEYS[1])
local s = open()
if not s then
  return {}
end
local addresses, outcomes = {}, {}
for i = 6, #ARGV, 2 do
  addresses[#addresses + 1] = ARGV[i]
end
for i, m in ipairs(load(addresses)) do
  if not m then
    outcomes[i] = 'gone'
  elseif not is_living(m, ARGV[5 + 2 * i]) then
    outcomes[i] = 'stale'
  else
    outcomes[i] = 'done'
    if m.ends < now + hold then
      m.ends = now + hold
      call('ZREM', DUE, m.address)
      call('ZADD', DUE, m.ends, m.address)
      call('HSET', HIDDEN, m.address, lease_text(m))
      expect(s, m.ends)
    end
  end
end
close(s)
return outcomes
