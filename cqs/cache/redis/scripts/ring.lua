-- include: common
-- Wake-ups that the calling node has no use for go to the next node where receives wait. When nobody waits at the caller
-- any more, it is told of nothing until one of its receives comes away empty again.
-- Keys: state, ears.
-- ARGV: how many. Returns 1, or 0 when the shard is absent.

use(KEYS[1])
local s = open()
if not s then
  return 0
end
-- include: ears
ring(s, tonumber(ARGV[5]))
if not string.find(ARGV[4], ' ', 1, true) then
  unlisten(s, NODE)
end
close(s, true)
return 1
