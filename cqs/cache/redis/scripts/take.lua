-- parts: fair standard fifo line
-- ready -> in flight. A request id's answer is kept and given again, its leases lasting anew, as long as all of them
-- live unchanged. What is past its retention leaves the shard; what was received too often goes in flight as dead.
-- Keys: state, meta, body, hidden, due, the line's, replay:ID, cqs:vesting.
-- ARGV: count_max, visibility_ms, retention_ms, receive_count_max (0 = no limit), in_flight_max, request id ('' = none),
-- replay_ms.
-- Returns {residency, is_over_limit, is_unfinished, received_ms, received, dead, expired}: of each received or dead one
-- address, meta, lease, body; of an expired one the address. Unfinished: too much that is stale stood in front.

local DEAD_LEASE_MS, DEAD_BATCH_MAX, EXPIRED_BATCH_MAX = 30000, 100, 1000
local count_max, visibility, retention = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local receive_count_max, in_flight_max = tonumber(ARGV[7]), tonumber(ARGV[8])
local replay_key = ARGV[9] ~= '' and 'replay:' .. ARGV[9]

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

-- The kept answer, or nil when there is none or it is void.
local function repeated()
  local kept = call('GET', BASE .. replay_key)
  if not kept then
    return nil
  end
  local received, ends, tickets = string.match(kept, '^(%d+) (%d+) (.*)$')
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
  local tickets = {}
  for i, m in ipairs(received) do
    tickets[i] = m.address .. string.format('%016.0f', tonumber(m.number))
  end
  local replay = tonumber(ARGV[10])
  call('SET', BASE .. replay_key, now .. ' ' .. now + replay .. ' ' .. table.concat(tickets), 'PX', replay)
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

local function lease(m, line, ends)
  s.number = s.number + 1
  m.number, m.ends, m.mark = text(s.number), ends, 0
  line.start(m)
end

local line = line_of(s)
set_retention(s, line, retention)
if replay_key then
  local messages, received_ms = repeated()
  if messages then
    for _, m in ipairs(messages) do
      hide(s, m, now + visibility)
    end
    line.save()
    close(s)
    return { s.residency, 0, 0, received_ms, told(messages), {}, {} }
  end
end
local in_flight = in_flight_of(s)
local room = math.min(count_max, in_flight_max - in_flight)
local is_over = in_flight >= in_flight_max and 1 or 0
if not s.is_ready or room <= 0 then
  line.save()
  close(s)
  return { s.residency, is_over, 0, now, {}, {}, {} }
end

local received, dead, expired = {}, {}, {}
local ends = visibility > 0 and now + visibility or 0
while #received < room and #dead < DEAD_BATCH_MAX and #expired < EXPIRED_BATCH_MAX do
  local batch = line.next(math.min(room - #received, DEAD_BATCH_MAX - #dead, EXPIRED_BATCH_MAX - #expired))
  if not batch then
    break
  end
  for _, m in ipairs(batch) do
    if sent_of(m) <= now - retention then
      expired[#expired + 1] = m.address
    elseif receive_count_max > 0 and m.count >= receive_count_max then
      lease(m, line, now + DEAD_LEASE_MS)
      dead[#dead + 1] = m
    else
      m.count = m.count + 1
      m.first = m.first > 0 and m.first or now
      lease(m, line, ends)
      received[#received + 1] = m
    end
  end
end
line.close_turn()
local is_unfinished = line.is_unfinished and #received + #dead + #expired == 0 and 1 or 0
if #received + #dead > 0 then
  set(s, 'number', text(s.number))
  write_leases(received)
  write_leases(dead)
end
if #expired > 0 then
  forget(expired)
end
local answer = { s.residency, is_over, is_unfinished, now, told(received), told(dead), expired }
if ends == 0 then
  for _, m in ipairs(received) do
    line.finish(m)
    expect_expiry(s, m)
  end
  line_up(line, received)
elseif replay_key and #received > 0 then
  keep_answer(received)
end
line.save()
close(s)
return answer
