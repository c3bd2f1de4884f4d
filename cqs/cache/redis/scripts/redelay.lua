-- include: common moves
-- A page of the delayed messages becomes visible at sent time + delay_ms.
-- Keys: state, meta, hidden, due, the line's, cqs:vesting.
-- ARGV: delay_ms, cursor ('0' = from the start), page size. Returns the cursor of the next page, '0' when this was the
-- last.

local delay, cursor, size = tonumber(ARGV[5]), ARGV[6], ARGV[7]

use(KEYS[1])
local s = open()
if not s or s.delayed == 0 then
  return '0'
end
-- include: line
local page = call('ZSCAN', DUE, cursor, 'COUNT', size)
local addresses, due = {}, {}
for i = 1, #page[2], 2 do
  if page[2][i] ~= BLANK then
    addresses[#addresses + 1] = page[2][i]
  end
end
table.sort(addresses, is_before)
for i, m in ipairs(load(addresses)) do
  if m and m.ends == 0 and addresses[i] ~= addresses[i - 1] then
    local at = sent_of(m) + delay
    if at > now then
      call('ZADD', DUE, 'XX', at, m.address)
      expect(s, at)
    else
      due[#due + 1] = m
    end
  end
end
unhide(s, line, due)
line_up(line, due)
line.save()
close(s)
return page[1]
