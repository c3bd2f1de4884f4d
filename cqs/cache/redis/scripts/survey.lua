-- include: common moves
-- State and numbers of shards. Drops nothing but what is stale; does not keep an idle shard alive.
-- Keys: the state of each shard.
-- Returns for each {residency a|i|r, epoch, ready, in flight, delayed, groups in flight, noisy groups, sent time of the
-- oldest ('' = none)}, or {} when it is absent.

local function look()
  local s = open()
  if not s then
    return {}
  end
  local messages, epoch = call('HLEN', META) - 1, call('HGET', STATE, 'epoch')
  if messages == 0 and not s.is_fifo and not s.is_fair then
    return { s.residency, epoch, 0, 0, 0, 0, 0, '' }
  end
  -- include: line
  local hidden = call('ZCARD', DUE) - 1
  local oldest = line.oldest()
  local noisy = line.noisy_groups()
  close(s, true)
  return { s.residency, epoch, messages - hidden, hidden - s.delayed, s.delayed, line.groups_in_flight(), noisy,
    oldest and text(oldest) or '' }
end

local found = {}
for i = 1, #KEYS - 1 do
  use(KEYS[i])
  found[i] = look()
end
return found
