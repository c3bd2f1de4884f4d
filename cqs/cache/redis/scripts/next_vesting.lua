-- include: common moves
-- When the first shard has work. Corrects times that are too early, up to `limit` of them.
-- Keys: cqs:vesting, and of each shard looked at state, due and the line's.
-- ARGV: limit. Returns the time, '' = never.

for _ = 1, tonumber(ARGV[5]) do
  local first = call('ZRANGE', VESTING, 0, 0, 'WITHSCORES')
  if #first == 0 then
    return ''
  end
  use('cqs:{' .. string.sub(first[1], 1, -3) .. '}:state')
  local s = open()
  if s then
    -- include: line
    local at, noted = next_work(s, line), s.vesting
    s.vesting = at <= noted and noted or at
    line.save()
    close(s, true)
    if at <= noted then
      return first[2]
    end
  else
    call('ZREM', VESTING, first[1])
  end
end
return text(now)
