-- include: common
-- A page of the messages in one state, at a cost that does not depend on the shard's size: ready messages in line
-- order, the others by when they become visible. Changes nothing.
-- Keys: state, meta, hidden, due, body; ready: list, late, parked or (FIFO) ages.
-- ARGV: state ready|delayed|in_flight, part of the line (1 = the first), position in it (0 = the front), the item
-- before that position ('' = unknown), how many positions to look at, 1 = with bodies.
-- Returns {part, position, item before it}, where the next page begins (part 0 = this is the last page); then for each
-- message the same triple, where a page begins that follows it, and its address, meta, lease, due time, body (nil =
-- none).

local state, part, place, before, size = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], tonumber(ARGV[9])

use(KEYS[1])
local s = open()
if not s then
  return { { 0, 0, '' } }
end
-- include: line
local parts = state ~= 'ready' and { 'due' } or s.is_fifo and { 'ages' } or { 'list', 'late', 'parked' }
if parts[part] == 'late' and before ~= '' and call('EXISTS', BASE .. 'late') == 0 then
  part = 1
end
local name = parts[part] or parts[1]
local key, is_list = BASE .. name, name == 'list' or name == 'late'

-- Continue after the item before, wherever it is now. If it has left the front of a list, so has all that preceded it.
local from = place
if before ~= '' and is_list then
  local at = call('LPOS', key, before, 'MAXLEN', place + LOOKS_MAX)
  from = at and at + 1 or 0
elseif before ~= '' then
  local at = call('ZRANK', key, before)
  from = at and at + 1 or place
end

local items = call(is_list and 'LRANGE' or 'ZRANGE', key, from, from + size)
local beyond = table.remove(items, size + 1)
local standing, addresses, places = {}, {}, {}
for i, item in ipairs(items) do
  local word = name == 'parked' and (string.match(item, '%z%d+%z(.*)$') or BLANK) or item
  if word ~= BLANK then
    standing[#standing + 1] = word
    addresses[#addresses + 1] = string.sub(word, 1, 16)
    places[addresses[#addresses]] = i
  end
end

local shown = {}
for _, m in ipairs(state == 'ready' and not s.is_fifo and line.fresh(standing) or load(addresses)) do
  if m and (m.ends > 0) == (state == 'in_flight') then
    shown[#shown + 1] = m.address
  end
end
local found = { { 0, 0, '' } }
if beyond and beyond ~= BLANK then
  found[1] = { part, from + size, items[size] }
else
  for more = part + 1, #parts do
    local is_parked = parts[more] == 'parked'
    if call(is_parked and 'ZCARD' or 'LLEN', BASE .. parts[more]) > (is_parked and 1 or 0) then
      found[1] = { more, 0, '' }
      break
    end
  end
end
if #shown == 0 then
  return found
end
local leases, dues = call('HMGET', HIDDEN, unpack(shown)), call('ZMSCORE', DUE, unpack(shown))
local metas = call('HMGET', META, unpack(shown))
local bodies = ARGV[10] == '1' and call('HMGET', BODY, unpack(shown)) or {}
for i, address in ipairs(shown) do
  local at = places[address]
  found[i + 1] = { part, from + at, items[at], address, metas[i], leases[i], dues[i], bodies[i] or false }
end
return found
