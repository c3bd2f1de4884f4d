-- The load of a standard shard's tenants, and which are noisy, by the rule of cqs/cache/tenants.py.
--
--   tenants hash  group -> "backlog last_send_ms" + meter;  BLANK -> "ungrouped backlogged" + meter, for all together:
--                 how many ready messages have no group, and how many groups have ready messages
--                 a meter: " in_flight since_ms window busy_ms earlier_ms"
--   noisy   set   groups that were noisy when last checked
--
-- A tenant is idle, and forgotten, when nothing of it is ready, parked or in flight and it did little recent work. One
-- that becomes idle because its work is no longer recent is forgotten by a survey.
-- `has_parked` says whether a group has parked messages.

local WINDOW_MS, NOISY_BUSY_MIN_MS, NOISY_IN_FLIGHT_MIN, NOISY_SHARE = 300000, 60000, 30, 0.1
local SAMPLE = 20

local function tenants_of(has_parked)
  local tenants = {}
  local TENANTS, NOISY = BASE .. 'tenants', BASE .. 'noisy'
  local known = {}

  local function blank(name)
    known[name] = { name = name, backlog = 0, last_send = 0, n = 0, since = now, window = math.floor(now / WINDOW_MS),
      busy = 0, earlier = 0 }
    return known[name]
  end

  local function read(name)
    if known[name] then
      return known[name]
    end
    local t, kept = blank(name), call('HGET', TENANTS, name)
    if kept then
      local n = {}
      for word in string.gmatch(kept, '%S+') do
        n[#n + 1] = tonumber(word)
      end
      t.backlog, t.last_send, t.n, t.since, t.window, t.busy, t.earlier = unpack(n)
    end
    return t
  end

  local total = read(BLANK)
  local ungrouped, backlogged = total.backlog, total.last_send

  local function tenant_of(m)
    if not m.group then
      m.group = string.match(m.meta, '^%d+ %d+ (.*)$')
    end
    return m.group ~= '' and read(m.group) or nil
  end

  local function settle(t)
    local window = math.floor(now / WINDOW_MS)
    if window > t.window then
      local start = window * WINDOW_MS
      if window == t.window + 1 then
        t.earlier = t.busy + t.n * (start - t.since)
      else
        t.earlier = t.n * WINDOW_MS
      end
      t.busy, t.since, t.window = 0, start, window
    end
    if now > t.since then
      t.busy = t.busy + t.n * (now - t.since)
      t.since = now
    end
  end

  local function change(t, by)
    settle(t)
    t.n = t.n + by
  end

  -- Processing time of the last five minutes.
  local function busy_of(t)
    settle(t)
    local past = math.min(1, math.max(0, now / WINDOW_MS - t.window))
    return t.busy + t.earlier * (1 - past)
  end

  local function judge(t)
    if t.backlog == 0 or now - t.last_send >= WINDOW_MS then
      return false
    end
    if t.n >= NOISY_IN_FLIGHT_MIN and t.n > NOISY_SHARE * total.n then
      return true
    end
    local busy = busy_of(t)
    return busy > NOISY_BUSY_MIN_MS and busy > NOISY_SHARE * busy_of(total)
  end

  local function is_noisy(t)
    local verdict = judge(t)
    call(verdict and 'SADD' or 'SREM', NOISY, t.name)
    return verdict
  end

  local function is_idle(t)
    return t.backlog == 0 and t.n == 0 and busy_of(t) <= NOISY_BUSY_MIN_MS and not has_parked(t.name)
  end

  local function drop(name)
    call('HDEL', TENANTS, name)
    call('SREM', NOISY, name)
  end

  local function forget_idle(t)
    if t and is_idle(t) then
      blank(t.name)
    end
  end

  -- How many messages of the group are in flight.
  function tenants.in_flight(name)
    return read(name).n
  end

  -- The message has become ready.
  function tenants.arrived(m)
    local t = tenant_of(m)
    if not t then
      ungrouped = ungrouped + 1
      return
    end
    t.last_send = math.max(t.last_send, sent_of(m))
    if t.backlog == 0 then
      backlogged = backlogged + 1
    end
    t.backlog = t.backlog + 1
  end

  -- The message is about to be in flight.
  function tenants.departed(m)
    local t = tenant_of(m)
    if not t then
      ungrouped = ungrouped - 1
      return
    end
    t.backlog = t.backlog - 1
    if t.backlog == 0 then
      backlogged = backlogged - 1
    end
  end

  -- The message is no longer ready, and was not handed out.
  function tenants.left(m)
    tenants.departed(m)
    forget_idle(tenant_of(m))
  end

  function tenants.started(m)
    change(total, 1)
    local t = tenant_of(m)
    if t then
      change(t, 1)
      is_noisy(t)
    end
  end

  function tenants.finished(m)
    change(total, -1)
    local t = tenant_of(m)
    if t then
      change(t, -1)
      forget_idle(t)
    end
  end

  -- Whether the group must let others go first: it is noisy and not alone.
  function tenants.is_passed(name)
    local is_alone = ungrouped == 0 and backlogged <= 1
    return name ~= '' and not is_alone and is_noisy(read(name))
  end

  function tenants.noisy_count()
    local count = 0
    for _, name in ipairs(call('SMEMBERS', NOISY)) do
      if name ~= BLANK and is_noisy(read(name)) then
        count = count + 1
      end
    end
    return count
  end

  -- Forgets idle tenants among a random sample, and goes on to another one, up to about `limit` tenants, while a quarter
  -- of a sample was idle. Returns how many it looked at.
  function tenants.prune(limit)
    local looks, idle = 0, SAMPLE
    while looks < limit and 4 * idle >= SAMPLE do
      idle = 0
      for _, name in ipairs(call('HRANDFIELD', TENANTS, SAMPLE)) do
        looks = looks + 1
        if name ~= BLANK and is_idle(read(name)) then
          drop(name)
          idle = idle + 1
        end
      end
    end
    return looks
  end

  function tenants.group_of(m)
    tenant_of(m)
    return m.group
  end

  -- Writes back, dropping idle tenants.
  function tenants.save()
    total.backlog, total.last_send = ungrouped, backlogged
    local words = {}
    for name, t in pairs(known) do
      if t ~= total and is_idle(t) then
        drop(name)
      else
        words[#words + 1] = name
        words[#words + 1] = table.concat({ t.backlog, t.last_send, t.n, t.since, t.window, t.busy, t.earlier }, ' ')
      end
    end
    call_many('HSET', TENANTS, words)
  end

  return tenants
end
