-- parts:
-- absent -> initializing, with a new epoch. The shard then lives FILL_LEASE_MS from page to page: when the filler dies,
-- it is absent again and somebody else fills. What an earlier life of the server left behind is thrown away.
-- Receive numbers start at the milliseconds since 2020, shifted, or above those of a shard dropped lately: they never
-- repeat, and fit 53 bits until 2089.
-- Keys: all of the shard that its kind needs, cqs:vesting, cqs:number.
-- ARGV: kind s|f, epoch, fill lease. Returns 1, or 0 when somebody else fills or has filled.

local NUMBER_START_MS = 1577836800000
local NUMBERS_PER_MS = 4096
local kind, epoch, lease = ARGV[4], ARGV[5], tonumber(ARGV[6])

use(KEYS[1])
if open() then
  return 0
end
local keys = all_keys()
if call('EXISTS', unpack(keys)) > 0 then
  call('UNLINK', unpack(keys))
end
local floor = tonumber(call('GET', 'cqs:number') or '0')
local number = math.max(math.max(0, now - NUMBER_START_MS) * NUMBERS_PER_MS, floor)
call('HSET', STATE, 'run', RUN, 'residency', 'i', 'kind', kind, 'expires_ms', now + lease, 'number', text(number),
  'delayed', 0, 'retention_ms', 0, 'vesting_ms', text(NEVER), 'is_late', '', 'is_fair', '', 'epoch', epoch)
for _, name in ipairs({ 'meta', 'body', 'hidden' }) do
  call('HSET', BASE .. name, BLANK, '')
end
call('ZADD', DUE, '+inf', BLANK)
call('ZADD', BASE .. 'tomb', '+inf', BLANK)
if kind == 'f' then
  call('HSET', STATE, 'turn', 0, 'front', 0)
  call('HSET', BASE .. 'busy', BLANK, '')
  call('ZADD', BASE .. 'fifo', 0, BLANK)
  call('ZADD', BASE .. 'locks', 0, BLANK)
  call('ZADD', BASE .. 'groups', '+inf', BLANK)
  call('ZADD', BASE .. 'ages', '+inf', BLANK)
end
local s = open()
call('ZREM', VESTING, vesting_name(s))
expire_all(s, lease)
close(s)
return 1
