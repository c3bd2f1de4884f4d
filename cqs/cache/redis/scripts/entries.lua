-- Messages that put and fill bring.

local TOMBSTONE_MS = 60000

-- Records of those that are neither known nor removed lately (while the shard fills: since it began).
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

-- Writes down what never changes, and begins fairness when a standard shard meets its first message with a group.
local function keep_entries(s, line, fresh)
  local has_groups = false
  for _, m in ipairs(fresh) do
    has_groups = has_groups or string.byte(m.meta, -1) ~= 32
  end
  if has_groups and not s.is_fair and not s.is_fifo then
    local hidden = call('ZCARD', DUE) - 1
    line.begin_fairness(call('HLEN', META) - 1 - hidden, hidden - s.delayed)
  end
  local metas, bodies, leases = {}, {}, {}
  for _, m in ipairs(fresh) do
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
  call_many('HSET', META, metas)
  call_many('HSET', HIDDEN, leases)
  call_many('HSET', BODY, bodies)
end

local function add_ready(s, line, messages, join)
  for _, m in ipairs(messages) do
    expect_expiry(s, m)
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
  s.delayed = s.delayed + #messages
  set(s, 'delayed', s.delayed)
end
