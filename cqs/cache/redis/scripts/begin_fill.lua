-- include: common
-- absent -> initializing, with a new epoch. The shard then lives for the fill lease from page to page: when the filler
-- dies, it is absent again and somebody else fills. What an earlier life of the server left behind is thrown away.
-- Receive numbers start at the milliseconds since 2020, shifted, or above those of a shard dropped lately: they never
-- repeat, and fit 53 bits until 2089.
-- Keys: all of the shard that its kind needs, cqs:vesting, cqs:number.
-- ARGV: kind s|f, epoch, fill lease, retention_ms. Returns 1, or 0 when somebody else fills or has filled.

local NUMBER_START_MS, NUMBERS_PER_MS = 1577836800000, 4096
local kind, epoch, lease = ARGV[5], ARGV[6], tonumber(ARGV[7])

use(KEYS[1])
if open() then
  return 0
end
local keys = all_keys()
if call('EXISTS', unpack(keys)) > 0 then
  call('UNLINK', unpack(keys))
end
local dropped = tonumber(call('GET', 'cqs:number') or '0')
local number = math.max(math.max(0, now - NUMBER_START_MS) * NUMBERS_PER_MS, dropped)
call('HSET', STATE, 'epoch', epoch, 'number', text(number))
local hashes, zsets = 'meta body hidden replays', 'due tomb'
if kind == 'f' then
  hashes, zsets = hashes .. ' busy', zsets .. ' groups ages fifo locks'
end
for name in string.gmatch(hashes, '%l+') do
  call('HSET', BASE .. name, BLANK, '')
end
for name in string.gmatch(zsets, '%l+') do
  local is_text = name == 'fifo' or name == 'locks'
  call('ZADD', BASE .. name, is_text and '0' or '+inf', BLANK)
end
call('ZREM', VESTING, string.match(STATE, '{(.*)}') .. ':' .. kind)
local s = { residency = 'i', kind = kind, delayed = 0, retention = tonumber(ARGV[8]), vesting = NEVER,
  vesting_was = NEVER, heard = '-', freed = 0 }
expire_all(s, lease)
close(s)
return 1
