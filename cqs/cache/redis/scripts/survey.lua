-- include: common moves tombs replays
-- State and counts of shards. Also drops stale items, old tombstones and old replays, which nothing else drops in a
-- shard where nothing is removed or taken any more, and tenants that have become idle by themselves; does not extend the
-- life of an idle shard.
-- Keys: the state of each shard.
-- Returns for each {residency a|i|r, epoch, ready, in flight, delayed, groups in flight, noisy groups, sent time of the
-- oldest ('' = none), how many places in the line are taken}, or {} when it is absent.

local sweeps_left, prunes_left = SWEEP_MAX, 500

local function tidy(s)
  sweeps_left = sweeps_left - sweep_tombs(s, sweeps_left)
  local begun = begun_of(call('HGET', BASE .. 'replays', BLANK))
  if call('HLEN', BASE .. 'replays') > 1 then
    turn_replays(s, begun)
  elseif now - begun >= REPLAYS_TURN_MS then
    call('UNLINK', BASE .. 'replayed')
  end
end

local function look()
  local s = open()
  if not s then
    return {}
  end
  tidy(s)
  local messages, epoch = call('HLEN', META) - 1, call('HGET', STATE, 'epoch')
  if messages == 0 and not s.is_fifo and not s.is_fair then
    return { s.residency, epoch, 0, 0, 0, 0, 0, '', 0 }
  end
  -- include: line
  local hidden = call('ZCARD', DUE) - 1
  local oldest = line.oldest()
  local noisy = line.noisy_groups()
  if s.is_fair then
    prunes_left = prunes_left - line.prune(prunes_left)
  end
  close(s, true)
  return { s.residency, epoch, messages - hidden, hidden - s.delayed, s.delayed, line.groups_in_flight(), noisy,
    oldest and text(oldest) or '', line.standing() }
end

local found = {}
for i = 1, #KEYS - 1 do
  use(KEYS[i])
  found[i] = look()
end
return found
