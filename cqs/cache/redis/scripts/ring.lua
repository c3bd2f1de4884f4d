-- include: common
-- Passes wake-ups that the calling node has no use for on to the next node where receives wait. If nobody waits at the
-- caller any more, it is not notified again until one of its receives comes back empty.
-- Keys: state, ears.
-- ARGV: how many, whether any wait at the caller 1|0. Returns 1, or 0 when the shard is absent.

use(KEYS[1])
local s = open()
if not s then
  return 0
end
-- include: ears
ring(s, tonumber(ARGV[5]))
if ARGV[6] == '0' then
  unlisten(s, NODE)
end
close(s, true)
return 1
