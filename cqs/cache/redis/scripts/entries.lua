-- Messages passed to put and fill: for each its address, standing, meta, body ('' = not kept). A standing is '0'
-- (ready, never received) or "visible_ms is_flight number count first_ms".

-- Records of the messages that are neither known nor recently removed (during a fill: removed since it began).
local function read_entries(s, from)
  local addresses = {}
  for i = from, #ARGV, 4 do
    addresses[#addresses + 1] = ARGV[i]
  end
  if #addresses == 0 then
    return {}
  end
  local known = call('HMGET', META, unpack(addresses))
  local removed = call('ZMSCORE', BASE .. 'tomb', unpack(addresses))
  local fresh, seen = {}, {}
  for i, address in ipairs(addresses) do
    local is_removed = removed[i] and (not s.is_ready or tonumber(removed[i]) > now - TOMBSTONE_MS)
    if not known[i] and not is_removed and not seen[address] then
      seen[address] = true
      local at = from + 4 * (i - 1)
      local m = record(address, ARGV[at + 2])
      m.body, m.visible = ARGV[at + 3], 0
      local standing = ARGV[at + 1]
      if standing ~= '0' then
        local visible, is_flight, number, count, first = string.match(standing, '^(%d+) (%d) (%d+) (%d+) (%d+)$')
        m.visible, m.is_flight, m.number = tonumber(visible), is_flight == '1', number
        m.count, m.first = tonumber(count), tonumber(first)
      end
      fresh[#fresh + 1] = m
    end
  end
  return fresh
end

-- From now on messages of a standard shard have tenants.
local function begin_fairness(s)
  local hidden = call('ZCARD', DUE) - 1
  local ready, in_flight = call('HLEN', META) - 1 - hidden, hidden - s.delayed
  s.is_fair, s.is_changed = true, true
  call('HSET', BASE .. 'tenants', BLANK, ready .. ' 0 ' .. in_flight .. ' ' .. now .. ' 0 0 0')
  call('ZADD', BASE .. 'parked', 0, BLANK)
  call('SADD', BASE .. 'noisy', BLANK)
  for _, name in ipairs({ 'tenants', 'parked', 'noisy' }) do
    expire_with(s, BASE .. name)
  end
end

-- Stores the immutable parts, and starts fairness when a standard shard meets its first message with a group. Must be
-- called before the line is made.
local function keep_entries(s, fresh)
  local metas, bodies, leases, has_groups = {}, {}, {}, false
  for _, m in ipairs(fresh) do
    has_groups = has_groups or string.byte(m.meta, -1) ~= 32
    metas[#metas + 1] = m.address
    metas[#metas + 1] = m.meta
    if m.body ~= '' then
      bodies[#bodies + 1] = m.address
      bodies[#bodies + 1] = m.body
    end
    if m.number ~= '0' or m.count > 0 then
      leases[#leases + 1] = m.address
      leases[#leases + 1] = lease_text(m)
    end
  end
  if has_groups and not s.is_fair and not s.is_fifo then
    begin_fairness(s)
  end
  call_many('HSET', META, metas)
  call_many('HSET', HIDDEN, leases)
  call_many('HSET', BODY, bodies)
end

local function add_ready(s, messages, join)
  for _, m in ipairs(messages) do
    expect(s, sent_of(m) + s.retention)
  end
  join(messages)
end

local function add_delayed(s, messages)
  if #messages == 0 then
    return
  end
  local words = {}
  for _, m in ipairs(messages) do
    words[#words + 1] = m.visible
    words[#words + 1] = m.address
    expect(s, m.visible)
  end
  call_many('ZADD', DUE, words)
  s.delayed, s.is_changed = s.delayed + #messages, true
end
