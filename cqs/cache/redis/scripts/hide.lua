-- include: common moves
-- Changes when the newest lease of a message ends; a time not after now makes it ready at once. On a standard shard the
-- newest lease may do so even after it expired. The take that issued it can't be replayed any more (mark).
-- Keys: state, meta, hidden, due, the line's, cqs:vesting.
-- ARGV: address, receive number, until. Returns done|gone|stale.

local address, number, ends = ARGV[5], ARGV[6], tonumber(ARGV[7])

use(KEYS[1])
local s = open()
local m = s and load({ address })[1]
if not m then
  return 'gone'
end
local has_right
if s.is_fifo then
  has_right = is_living(m, number)
else
  has_right = m.number == number and number ~= '0'
end
if not has_right then
  return 'stale'
end
-- include: line
m.mark = 1
if ends > now then
  if m.ends == 0 and s.delayed > 0 and call('ZSCORE', DUE, address) then
    call('ZADD', DUE, ends, address)
    expect(s, ends)
    close(s)
    return 'done'
  end
  if m.ends == 0 then
    line.leave(m)
    m.place = m.place + 1
    line.start(m)
  end
  hide(s, m, ends)
elseif m.ends > 0 then
  unhide(s, line, { m })
  line_up(line, { m })
  s.freed = 1
end
line.save()
close(s)
return 'done'
