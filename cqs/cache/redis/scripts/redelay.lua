-- include: common moves
-- Makes a page of the delayed messages visible at sent time + delay_ms. A first walk moves those that become visible
-- sooner, earliest first; a second walk moves those that become visible later, latest first: so a take between two
-- pages finds no visible message that was sent after one still hidden.
-- Keys: state, meta, hidden, due, the line's, cqs:vesting.
-- ARGV: delay_ms, cursor ('' = from the start), page size, second walk 1|0. Returns the cursor of the next page, which
-- is the due time of this page's last message, or '' when this was the last page.

local delay, cursor, size, is_later = tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), ARGV[8] == '1'

use(KEYS[1])
local s = open()
if not s or s.delayed == 0 then
  return ''
end
-- include: line
local limit = size + (cursor ~= '' and call('ZCOUNT', DUE, cursor, cursor) or 0)
local page
if is_later then
  page = call('ZREVRANGEBYSCORE', DUE, cursor ~= '' and cursor or '(+inf', '-inf', 'WITHSCORES', 'LIMIT', 0, limit)
else
  page = call('ZRANGEBYSCORE', DUE, cursor ~= '' and cursor or '-inf', '(+inf', 'WITHSCORES', 'LIMIT', 0, limit)
end
local addresses, due = {}, {}
for i = 1, #page, 2 do
  addresses[#addresses + 1] = page[i]
end
for i, m in ipairs(load(addresses)) do
  local at = m and sent_of(m) + delay
  if m and m.ends == 0 and is_later == (at > tonumber(page[2 * i])) then
    if at > now then
      call('ZADD', DUE, 'XX', at, m.address)
      expect(s, at)
    else
      due[#due + 1] = m
    end
  end
end
table.sort(due, function(a, b)
  return is_before(a.address, b.address)
end)
unhide(s, line, due)
line_up(line, due)
line.save()
s.freed = #due
close(s)
return #addresses == limit and page[2 * limit] or ''
