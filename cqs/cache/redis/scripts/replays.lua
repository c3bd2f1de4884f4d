-- The answers of takes by nodes, replayed to a node whose answer was lost:
--
--   replays   hash  node + slot -> request id and answer, see take.lua; BLANK -> when this hash began
--   replayed  hash  the previous one
--
-- Each lasts REPLAYS_TURN_MS, far longer than an answer is valid. So leftovers of an idle shard or of a node that has
-- ended disappear: a node keeps up to 256 answers of half a kilobyte in each shard.

local REPLAYS_TURN_MS = 30000

local function begun_of(word)
  return tonumber(word or '') or 0
end

-- The answer in this slot, if any, and when the current hash began.
local function find_answer(slot, replay)
  local found = call('HMGET', BASE .. 'replays', slot, BLANK)
  local begun = begun_of(found[2])
  return found[1] or (now - begun < replay and call('HGET', BASE .. 'replayed', slot)), begun
end

local function turn_replays(s, begun)
  if now - begun >= REPLAYS_TURN_MS then
    call('UNLINK', BASE .. 'replayed')
    if call('EXISTS', BASE .. 'replays') == 1 then
      call('RENAME', BASE .. 'replays', BASE .. 'replayed')
    end
    call('HSET', BASE .. 'replays', BLANK, now)
    expire_with(s, BASE .. 'replays')
  end
end
