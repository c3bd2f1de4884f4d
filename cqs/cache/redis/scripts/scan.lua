-- include: common
-- A page of the addresses in one state, in no order, possibly with repeats. Changes nothing.
-- Keys: state, meta, hidden, due.
-- ARGV: state ready|delayed|in_flight, cursor ('0' = from the start), page size. Returns {next cursor ('0' = that was
-- all), addresses}.

local state, cursor, size = ARGV[5], ARGV[6], ARGV[7]

use(KEYS[1])
local s = open()
if not s then
  return { '0', {} }
end
local is_ready = state == 'ready'
local page = is_ready and call('HSCAN', META, cursor, 'COUNT', size) or call('ZSCAN', DUE, cursor, 'COUNT', size)
local addresses = {}
for i = 1, #page[2], 2 do
  if page[2][i] ~= BLANK then
    addresses[#addresses + 1] = page[2][i]
  end
end
local found = {}
for i, m in ipairs(load(addresses)) do
  local is_flight = m and m.ends > 0
  local is_found
  if is_ready then
    is_found = m and not is_flight and not call('ZSCORE', DUE, addresses[i])
  else
    is_found = m and is_flight == (state == 'in_flight')
  end
  if is_found then
    found[#found + 1] = addresses[i]
  end
end
return { page[1], found }
