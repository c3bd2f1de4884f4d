-- include: common
-- Makes the shard absent. Receive numbers of its next life start above its own. Kept answers become void by themselves:
-- their leases are gone.
-- Keys: all of the shard, cqs:vesting, cqs:number.
-- ARGV: the name in cqs:vesting.

use(KEYS[1])
local number = open() and tonumber(call('HGET', STATE, 'number'))
call('UNLINK', unpack(all_keys()))
if number then
  local floor = tonumber(call('GET', 'cqs:number') or '0')
  call('SET', 'cqs:number', text(math.max(floor, number)), 'PX', KEEP)
end
call('ZREM', VESTING, ARGV[5])
return 1
