-- include: common tombs entries moves
-- A page of entries read from the store: ready, delayed or, with an unexpired lease, in flight. The last page makes the
-- shard ready and notifies every node, because nodes whose receives waited for an earlier life of the shard are not in
-- its ears. Skips known and removed messages.
-- Keys: all of the shard, cqs:vesting.
-- ARGV: epoch, is_last 1|0, fill lease, then messages, see entries.lua. Returns 1, or 0 when the epoch is not this
-- fill's.

local epoch, is_last, lease = ARGV[5], ARGV[6] == '1', tonumber(ARGV[7])

use(KEYS[1])
local s = open()
if not s or call('HGET', STATE, 'epoch') ~= epoch then
  return 0
end
local fresh = read_entries(s, 8)
keep_entries(s, fresh)
-- include: line
local filled, ready, delayed = {}, {}, {}
local number = tonumber(call('HGET', STATE, 'number'))
for _, m in ipairs(fresh) do
  if m.visible <= now then
    local side = s.is_ready and ready or filled
    side[#side + 1] = m
  elseif m.is_flight then
    line.start(m)
    hide(s, m, m.visible)
  else
    delayed[#delayed + 1] = m
  end
  number = math.max(number, tonumber(m.number))
end
if #fresh > 0 then
  call('HSET', STATE, 'number', text(number))
  add_delayed(s, delayed)
  add_ready(s, filled, line.fill)
  add_ready(s, ready, line.join)
end
if is_last and not s.is_ready then
  s.residency, s.is_ready, s.is_changed = 'r', true, true
  line.end_fill()
  s.vesting = next_work(s, line)
  redis.pcall('PUBLISH', 'cqs:news', 'filled ' .. string.match(STATE, '{(.*)}') .. ':' .. s.kind)
end
line.save()
s.freed = #ready
if not s.is_ready then
  expire_all(s, lease)
end
close(s)
return 1
