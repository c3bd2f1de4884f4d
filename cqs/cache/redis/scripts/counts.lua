-- include: common moves
-- The numbers of the shard. Drops nothing but what is stale; does not keep an idle shard alive.
-- Keys: state, meta, due, the line's.
-- Returns {ready, in flight, delayed, groups in flight, noisy groups, sent time of the oldest ('' = none)}, or nothing
-- when absent.

use(KEYS[1])
local s = open()
if not s then
  return {}
end
-- include: line
local hidden = call('ZCARD', DUE) - 1
local oldest = line.oldest()
local noisy = line.noisy_groups()
close(s, true)
return { call('HLEN', META) - 1 - hidden, hidden - s.delayed, s.delayed, line.groups_in_flight(), noisy,
  oldest and text(oldest) or '' }
