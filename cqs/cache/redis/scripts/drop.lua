-- include: common
-- The shard is absent. Receive numbers of its next life start above its own. Kept answers end by themselves: their
-- leases are gone.
-- Keys: all of the shard, cqs:vesting, cqs:number.
-- ARGV: the name in cqs:vesting.

use(KEYS[1])
local s = open()
if s then
  local floor = tonumber(call('GET', 'cqs:number') or '0')
  call('SET', 'cqs:number', text(math.max(floor, tonumber(call('HGET', STATE, 'number')))), 'PX', KEEP)
end
call('UNLINK', unpack(all_keys()))
call('ZREM', VESTING, ARGV[5])
return 1
