-- include: common tombs
-- Removes messages in any state, and leaves a tombstone for each, known or not. While the shard fills, all tombstones
-- are kept; otherwise those past their time or beyond TOMBSTONES_MAX are swept now and then.
-- Keys: all of the shard but list and late.
-- ARGV: addresses. Returns how many were known.

local SWEEP_EVERY_MS = 16

use(KEYS[1])
local s = open()
if not s then
  return 0
end
local TOMB = BASE .. 'tomb'
local addresses = { unpack(ARGV, 5) }
local count = 0
if s.is_fifo or s.is_fair or s.delayed > 0 then
  -- include: moves line
  for i, m in ipairs(load(addresses)) do
    if m and call('HEXISTS', META, addresses[i]) == 1 then
      remove(s, line, m, call('ZSCORE', DUE, addresses[i]))
      count = count + 1
    end
  end
  line.save()
  s.freed = s.is_fifo and count or 0
else
  count = call('HDEL', META, unpack(addresses))
  if count > 0 then
    call('HDEL', HIDDEN, unpack(addresses))
    call('ZREM', DUE, unpack(addresses))
    call('HDEL', BODY, unpack(addresses))
  end
end

local words = {}
for _, address in ipairs(addresses) do
  words[#words + 1] = now
  words[#words + 1] = address
end
call('ZADD', TOMB, unpack(words))
if now % SWEEP_EVERY_MS == 0 then
  sweep_tombs(s, SWEEP_MAX)
end
close(s)
return count
