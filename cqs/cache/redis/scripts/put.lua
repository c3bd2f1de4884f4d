-- include: common tombs entries moves
-- Adds messages: ready, delayed or, with an unexpired lease, in flight. Skips known and recently removed ones; later
-- takes get higher numbers than all leases passed in.
-- Keys: state, meta, hidden, due, body, tomb (read), the line's, cqs:vesting.
-- ARGV: epoch ('' = any), then messages, see entries.lua. Returns the residency a|i|r; also a when the shard has
-- another epoch.

local epoch = ARGV[5]

use(KEYS[1])
local s = open()
if not s or (epoch ~= '' and call('HGET', STATE, 'epoch') ~= epoch) then
  return 'a'
end
local number = 0
for i = 7, #ARGV, 4 do
  if ARGV[i] ~= '0' then
    number = math.max(number, tonumber(string.match(ARGV[i], '^%d+ %d (%d+)') or 0))
  end
end
local fresh = read_entries(s, 6)
if number > 0 and number > tonumber(call('HGET', STATE, 'number')) then
  call('HSET', STATE, 'number', text(number))
end
if #fresh > 0 then
  keep_entries(s, fresh)
  -- include: line
  local ready, delayed = {}, {}
  for _, m in ipairs(fresh) do
    if m.visible <= now then
      ready[#ready + 1] = m
    elseif m.is_flight then
      line.start(m)
      hide(s, m, m.visible)
    else
      delayed[#delayed + 1] = m
    end
  end
  add_delayed(s, delayed)
  add_ready(s, ready, line.join)
  line.save()
  s.freed = #ready
  close(s)
end
return s.residency
