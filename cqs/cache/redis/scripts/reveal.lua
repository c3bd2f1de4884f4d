-- include: common moves
-- Due messages become ready, or are dropped when past their retention; then the oldest ready ones past it are dropped,
-- too. Touches at most `limit` messages.
-- Keys: all of the shard but tomb, cqs:vesting.
-- ARGV: retention_ms, limit. Returns {visible, next_ms ('' = never), expired addresses}.

local retention, limit = tonumber(ARGV[5]), tonumber(ARGV[6])

use(KEYS[1])
local s = open()
if not s then
  call('ZREM', VESTING, ARGV[7])
  return { 0, '', {} }
end
-- include: line
set_retention(s, line, retention)
local due, run, expired = {}, {}, {}
local addresses = call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, limit)
for i, m in ipairs(load(addresses)) do
  if not m then
    call('ZREM', DUE, addresses[i])
  elseif sent_of(m) + retention <= now then
    unhide(s, line, run)
    run = {}
    expired[#expired + 1] = m.address
    remove(s, line, m, true)
  else
    due[#due + 1], run[#run + 1] = m, m
  end
end
unhide(s, line, run)
line_up(line, due)
while #due + #expired < limit do
  local head = line.head()
  if not head or sent_of(head) + retention > now then
    break
  end
  expired[#expired + 1] = head.address
  remove(s, line, head)
end
s.vesting = next_work(s, line)
line.save()
s.freed = #due + (s.is_fifo and #expired or 0)
close(s)
return { #due, s.vesting == NEVER and '' or text(s.vesting), expired }
