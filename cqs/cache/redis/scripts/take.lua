-- include: common moves
-- ready -> in flight. The answer is kept, and replayed to the same request with its leases restarted, as long as all of
-- them are current and unchanged. Messages past their retention are dropped; those received too often go in flight as
-- dead.
-- Keys: state, meta, body, hidden, due, the line's, replays and replayed or attempt:ID, cqs:vesting.
-- ARGV: count_max, visibility_ms, retention_ms, receive_count_max (0 = no limit), in_flight_max, request id, replay_ms,
-- slot, is_waiting 1|0.
-- An answer is kept as "request_id received_ms ends_ms" + tickets of 16 bytes of address and 16 digits of receive
-- number. A request id with a slot is a node's own, and unique only until the slot is reused; one without a slot is a
-- client's, and its answer has a key of its own.
-- A take that waits and finds nothing registers its node for notifications in the same step, so no message can slip
-- between the look and the registration.
-- Returns {residency, is_over_limit, is_unfinished, received_ms, received, dead, expired}: for each received or dead
-- one address, meta, lease, body; for an expired one the address. Unfinished: too many stale items were in front.

local DEAD_LEASE_MS, DEAD_BATCH_MAX, EXPIRED_BATCH_MAX = 30000, 100, 1000
local count_max, visibility, retention = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local receive_count_max, in_flight_max = tonumber(ARGV[8]), tonumber(ARGV[9])
local request, replay, slot, is_waiting = ARGV[10], tonumber(ARGV[11]), ARGV[12], ARGV[13] == '1'

use(KEYS[1])
local s = open()
if not s then
  return { 'a', 0, 0, now, {}, {}, {} }
end

local function told(messages)
  local words, addresses = {}, {}
  for i, m in ipairs(messages) do
    addresses[i] = m.address
  end
  for from = 1, #addresses, 1000 do
    local bodies = call('HMGET', BODY, unpack(addresses, from, math.min(from + 999, #addresses)))
    for i, body in ipairs(bodies) do
      local m = messages[from + i - 1]
      words[#words + 1] = m.address
      words[#words + 1] = m.meta
      words[#words + 1] = lease_text(m)
      words[#words + 1] = body
    end
  end
  return words
end

-- include: replays
local replays_begun

-- The kept answer, or nil when there is none or it is void.
local function repeated()
  local kept
  if slot ~= '' then
    kept, replays_begun = find_answer(slot, replay)
  else
    kept = call('GET', BASE .. 'attempt:' .. request)
  end
  if not kept or string.sub(kept, 1, #request + 1) ~= request .. ' ' then
    return nil
  end
  local received, ends, tickets = string.match(kept, '^(%d+) (%d+) (.*)$', #request + 2)
  if now >= tonumber(ends) then
    return nil
  end
  local addresses, numbers = {}, {}
  for at = 1, #tickets, 32 do
    addresses[#addresses + 1] = string.sub(tickets, at, at + 15)
    numbers[#numbers + 1] = text(tonumber(string.sub(tickets, at + 16, at + 31)))
  end
  local messages = load(addresses)
  for i, m in ipairs(messages) do
    if not m or m.mark == 1 or not is_living(m, numbers[i]) then
      return nil
    end
  end
  return messages, tonumber(received)
end

local function keep_answer(received)
  local words = { request .. ' ' .. now .. ' ' .. now + replay .. ' ' }
  for _, m in ipairs(received) do
    words[#words + 1] = m.address .. string.rep('0', 16 - #m.number) .. m.number
  end
  local answer = table.concat(words)
  if slot == '' then
    call('SET', BASE .. 'attempt:' .. request, answer, 'PX', replay)
  else
    turn_replays(s, replays_begun)
    call('HSET', BASE .. 'replays', slot, answer)
  end
end

local function write_leases(messages)
  local leases, dues = {}, {}
  for _, m in ipairs(messages) do
    leases[#leases + 1] = m.address
    leases[#leases + 1] = lease_text(m)
    if m.ends > 0 then
      dues[#dues + 1] = m.ends
      dues[#dues + 1] = m.address
      expect(s, m.ends)
    end
  end
  call_many('HSET', HIDDEN, leases)
  call_many('ZADD', DUE, dues)
end

-- include: line
set_retention(s, line, retention)
local again, received_ms = repeated()
if again then
  for _, m in ipairs(again) do
    hide(s, m, now + visibility)
  end
  close(s)
  return { s.residency, 0, 0, received_ms, told(again), {}, {} }
end
local in_flight = call('ZCARD', DUE) - 1 - s.delayed
local room = math.min(count_max, in_flight_max - in_flight)
local is_over = in_flight >= in_flight_max and 1 or 0
local function wait()
  if is_waiting and s.is_ready and s.heard ~= string.match(ARGV[4], '^%S+') then
    -- include: ears
    listen(s)
  end
end
if not s.is_ready or room <= 0 then
  wait()
  close(s)
  return { s.residency, is_over, 0, now, {}, {}, {} }
end

local received, dead, expired, leased = {}, {}, {}, {}
local ends = visibility > 0 and now + visibility or 0
while #received < room and #dead < DEAD_BATCH_MAX and #expired < EXPIRED_BATCH_MAX do
  local batch = line.next(math.min(room - #received, DEAD_BATCH_MAX - #dead, EXPIRED_BATCH_MAX - #expired))
  if not batch then
    break
  end
  for _, m in ipairs(batch) do
    if sent_of(m) <= now - retention then
      expired[#expired + 1] = m.address
    else
      if receive_count_max > 0 and m.count >= receive_count_max then
        m.ends = now + DEAD_LEASE_MS
        dead[#dead + 1] = m
      else
        m.ends, m.count = ends, m.count + 1
        m.first = m.first > 0 and m.first or now
        received[#received + 1] = m
      end
      m.mark = 0
      leased[#leased + 1] = m
      line.start(m)
    end
  end
end
line.close_turn()
local is_unfinished = line.is_unfinished and #leased + #expired == 0 and 1 or 0
if #leased > 0 then
  local number = call('HINCRBY', STATE, 'number', #leased) - #leased
  for i, m in ipairs(leased) do
    m.number = text(number + i)
  end
  write_leases(leased)
end
forget(expired)
local answer = { s.residency, is_over, is_unfinished, now, told(received), told(dead), expired }
if ends == 0 then
  for _, m in ipairs(received) do
    line.finish(m)
    expect_expiry(s, m)
  end
  line_up(line, received)
  s.freed = #received
elseif request ~= '' and #received > 0 then
  keep_answer(received)
end
if #leased + #expired == 0 and is_unfinished == 0 then
  wait()
end
line.save()
close(s)
return answer
