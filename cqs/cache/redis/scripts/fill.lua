-- parts: fair standard fifo line entries
-- A page of entries read from the store: ready, delayed or, with a living lease, in flight. The last page makes the
-- shard ready. Known and removed ones are left alone.
-- Keys: all of the shard, cqs:vesting.
-- ARGV: epoch, is_last 1|0, fill lease, then messages as for put. Returns 1, or 0 when the epoch is not this fill's.

local epoch, is_last, lease = ARGV[4], ARGV[5] == '1', tonumber(ARGV[6])

use(KEYS[1])
local s = open()
if not s or call('HGET', STATE, 'epoch') ~= epoch then
  return 0
end
local fresh = read_entries(s, 7)
local line = line_of(s)
if #fresh > 0 then
  keep_entries(s, line, fresh)
  local filled, ready, delayed = {}, {}, {}
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
    s.number = math.max(s.number, tonumber(m.number))
  end
  set(s, 'number', text(s.number))
  add_delayed(s, delayed)
  add_ready(s, line, filled, line.fill)
  add_ready(s, line, ready, line.join)
end
if is_last and not s.is_ready then
  s.residency, s.is_ready = 'r', true
  set(s, 'residency', 'r')
  line.end_fill()
end
line.save()
if not s.is_ready then
  expire_all(s, lease)
end
close(s)
return 1
