-- include: common moves
-- Shards that have work now, each leased for VESTING_LEASE_MS. A shard's time in the index may be too early: it is then
-- corrected.
-- Keys: cqs:vesting, and of each shard named there state, due and the line's.
-- ARGV: limit, lease. Returns their names.

local limit, lease = tonumber(ARGV[5]), tonumber(ARGV[6])
local names = {}
for _, name in ipairs(call('ZRANGEBYSCORE', VESTING, '-inf', now, 'LIMIT', 0, limit)) do
  use('cqs:{' .. string.sub(name, 1, -3) .. '}:state')
  local s = open()
  if s then
    -- include: line
    s.vesting = next_work(s, line)
    if s.vesting <= now then
      names[#names + 1] = name
      s.vesting = now + lease
    end
    line.save()
    close(s, true)
  else
    call('ZREM', VESTING, name)
  end
end
return names
