-- Tombstones: which messages were removed from the shard, and when. All are kept while it fills.
--
--   tomb  zset  address, by time of removal

local TOMBSTONE_MS, TOMBSTONES_MAX = 60000, 100000
local SWEEP_MAX = 2000

-- Drops up to `limit` tombstones that are past their time or beyond TOMBSTONES_MAX; returns how many.
local function sweep_tombs(s, limit)
  local TOMB = BASE .. 'tomb'
  local old = call('ZCARD', TOMB) - 1
  if not s.is_ready or old == 0 or limit <= 0 then
    return 0
  end
  old = math.max(call('ZCOUNT', TOMB, '-inf', now - TOMBSTONE_MS), old - TOMBSTONES_MAX)
  return old > 0 and call('ZREMRANGEBYRANK', TOMB, 0, math.min(old, limit) - 1) or 0
end
