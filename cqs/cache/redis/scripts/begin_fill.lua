-- include: common
-- absent -> initializing, with a new epoch. From then on each page renews the shard's life by the fill lease: if the
-- filler dies, the shard is absent again and another node fills it. Leftovers of an earlier life of the server are
-- deleted. Receive numbers start at the milliseconds since 2020, shifted, or above those of a recently dropped shard:
-- they never repeat, and fit 53 bits until 2089.
-- Keys: all of the shard that its kind needs, cqs:vesting, cqs:number.
-- ARGV: kind s|f, epoch, fill lease, retention_ms. Returns 1, or 0 when another node is filling or has filled the
-- shard.

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
