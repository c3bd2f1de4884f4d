-- Moves messages in and out of the line of their shard; see line.lua.

-- A message that is or becomes ready has an expiry to watch.
local function expect_expiry(s, m)
  expect(s, sent_of(m) + s.retention)
end

-- Keeps a message in flight until `at` (the record's lease says since which receive).
local function hide(s, m, at)
  m.ends = at
  call('ZREM', DUE, m.address)
  call('ZADD', DUE, at, m.address)
  call('HSET', HIDDEN, m.address, lease_text(m))
  expect(s, at)
end

-- Makes in-flight and delayed messages ready, without a place in the line yet; line_up must follow.
local function unhide(s, line, messages)
  local addresses, leases = {}, {}
  for i, m in ipairs(messages) do
    addresses[i] = m.address
    if m.ends > 0 then
      line.finish(m)
    else
      s.delayed, s.is_changed = s.delayed - 1, true
    end
    if m.has_lease then
      m.ends = 0
      leases[#leases + 1] = m.address
      leases[#leases + 1] = lease_text(m)
    end
    expect_expiry(s, m)
  end
  call_many('ZREM', DUE, addresses)
  call_many('HSET', HIDDEN, leases)
end

-- Places messages with few receives at the front and all others at the back, each in the given order.
local function line_up(line, messages)
  local front, back = {}, {}
  for _, m in ipairs(messages) do
    local side = m.count > 0 and m.count < RECEIVES_BEFORE_BACK and front or back
    side[#side + 1] = m
  end
  line.rejoin(front)
  line.join(back)
end

local function forget(addresses)
  call_many('HDEL', META, addresses)
  call_many('HDEL', HIDDEN, addresses)
  call_many('ZREM', DUE, addresses)
  call_many('HDEL', BODY, addresses)
end

-- Removes the message from the shard; `is_due` says whether one that is not in flight is delayed.
local function remove(s, line, m, is_due)
  forget({ m.address })
  if m.ends > 0 then
    line.finish(m)
  elseif is_due then
    s.delayed, s.is_changed = s.delayed - 1, true
  else
    line.leave(m)
  end
end

-- When reveal has work: the first due message, or the expiry of the message that has waited longest. While that one is
-- not known, there is work: to find it.
local function next_work(s, line)
  local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')
  local at = first[1] == BLANK and NEVER or tonumber(first[2])
  local head, is_hidden = line.head()
  if is_hidden then
    at = math.min(at, now)
  elseif head then
    at = math.min(at, sent_of(head) + s.retention)
  end
  return at
end

local function set_retention(s, line, retention)
  if s.retention ~= retention then
    s.retention, s.is_changed = retention, true
    local head, is_hidden = line.head()
    if is_hidden then
      expect(s, now)
    elseif head then
      expect_expiry(s, head)
    end
  end
end
