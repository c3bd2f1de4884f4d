-- Fair queues: the load of the tenants (message groups) of a standard shard, and the lines of those that were passed.
-- The rule of noise is that of cqs/cache/tenants.py, to the last digit.
--
--   tenants hash  group -> "backlog last_send_ms" + meter;  BLANK -> "ungrouped backlogged" + meter, of all together
--                 a meter: " in_flight since_ms window busy_ms earlier_ms"
--   parked  zset  all of score 0, ordered as text: group \0 position (16 digits) \0 address + place
--   noisy   set   groups that were noisy when last looked at

local WINDOW = 300000
local NOISY_BUSY_MIN = 60000
local PARKED_TENANTS_MAX = 1000

local function fair_tenants()
  local fair = {}
  local TENANTS, PARKED, NOISY = BASE .. 'tenants', BASE .. 'parked', BASE .. 'noisy'
  local known, heads = {}, nil

  local function blank(name)
    known[name] = { name = name, backlog = 0, last_send = 0, n = 0, since = now, window = math.floor(now / WINDOW),
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
  total.ungrouped, total.backlogged = total.backlog, total.last_send

  local function tenant_of(m)
    if not m.group then
      m.group = string.match(m.meta, '^%d+ %d+ (.*)$')
    end
    return m.group ~= '' and read(m.group) or nil
  end

  local function settle(t)
    local window = math.floor(now / WINDOW)
    if window > t.window then
      local start = window * WINDOW
      if window == t.window + 1 then
        t.earlier = t.busy + t.n * (start - t.since)
      else
        t.earlier = t.n * WINDOW
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

  local function busy_of(t)
    settle(t)
    local past = math.min(1, math.max(0, now / WINDOW - t.window))
    return t.busy + t.earlier * (1 - past)
  end

  local function judge(t)
    if t.backlog == 0 or now - t.last_send >= WINDOW then
      return false
    end
    if t.n >= 30 and t.n > 0.1 * total.n then
      return true
    end
    local busy = busy_of(t)
    return busy > NOISY_BUSY_MIN and busy > 0.1 * busy_of(total)
  end

  local function is_noisy(t)
    local verdict = judge(t)
    call(verdict and 'SADD' or 'SREM', NOISY, t.name)
    return verdict
  end

  local function is_passed(t)
    local is_alone = total.ungrouped == 0 and total.backlogged <= 1
    return not is_alone and is_noisy(t)
  end

  local function line_of_tenant(name, command)
    local low, high = '[' .. name .. '\0', '(' .. name .. '\1'
    if command == 'ZREVRANGEBYLEX' then
      low, high = high, low
    end
    return call(command or 'ZRANGEBYLEX', PARKED, low, high, 'LIMIT', 0, 1)[1]
  end

  -- With nothing ready, parked or in flight and little recent work.
  local function is_idle(t)
    return t.backlog == 0 and t.n == 0 and busy_of(t) <= NOISY_BUSY_MIN and not line_of_tenant(t.name)
  end

  local function forget_idle(t)
    if t and is_idle(t) then
      blank(t.name)
    end
  end

  local function position_of(name, member)
    return tonumber(string.sub(member, #name + 2, #name + 17))
  end

  local function stand(name, position, item)
    call('ZADD', PARKED, 0, name .. '\0' .. string.format('%016.0f', position) .. '\0' .. item)
  end

  local function head_of(name, fresh)
    for _ = 1, LOOKS_MAX do
      local member = line_of_tenant(name)
      if not member then
        return nil
      end
      local m = fresh({ string.sub(member, #name + 19) })[1]
      if m then
        m.member = member
        return m
      end
      call('ZREM', PARKED, member)
    end
    return nil
  end

  -- First of each parked line, by tenant; tenants whose line has run out are no longer parked.
  local function parked_heads(fresh)
    if heads then
      return heads
    end
    heads = {}
    local from = '(' .. BLANK
    for _ = 1, PARKED_TENANTS_MAX do
      local member = call('ZRANGEBYLEX', PARKED, from, '+', 'LIMIT', 0, 1)[1]
      if not member then
        break
      end
      local name = string.match(member, '^(.-)%z')
      heads[name] = head_of(name, fresh) or false
      from = '[' .. name .. '\1'
    end
    return heads
  end

  local function pop(m, fresh)
    call('ZREM', PARKED, m.member)
    heads[m.group] = head_of(m.group, fresh) or false
    return m
  end

  function fair.arrived(m)
    local t = tenant_of(m)
    if not t then
      total.ungrouped = total.ungrouped + 1
      return
    end
    t.last_send = math.max(t.last_send, sent_of(m))
    if t.backlog == 0 then
      total.backlogged = total.backlogged + 1
    end
    t.backlog = t.backlog + 1
  end

  function fair.departed(m)
    local t = tenant_of(m)
    if not t then
      total.ungrouped = total.ungrouped - 1
      return
    end
    t.backlog = t.backlog - 1
    if t.backlog == 0 then
      total.backlogged = total.backlogged - 1
    end
  end

  -- The message is not ready any more, without having been handed out.
  function fair.left(m)
    fair.departed(m)
    heads = nil
    forget_idle(tenant_of(m))
  end

  -- Arrived again; true when it now stands in front of its tenant's parked line.
  function fair.returned(m, item)
    fair.arrived(m)
    local member = m.group ~= '' and line_of_tenant(m.group)
    if not member then
      return false
    end
    stand(m.group, position_of(m.group, member) - 1, item)
    heads = nil
    return true
  end

  function fair.started(m)
    change(total, 1)
    local t = tenant_of(m)
    if t then
      change(t, 1)
      is_noisy(t)
    end
  end

  function fair.finished(m)
    change(total, -1)
    local t = tenant_of(m)
    if t then
      change(t, -1)
      forget_idle(t)
    end
  end

  -- The oldest head of the parked lines whose tenants are quiet now, taken out.
  function fair.pop_quiet(fresh)
    local best
    for name, head in pairs(parked_heads(fresh)) do
      if not head then
        heads[name] = nil
      elseif (not best or is_before(head.address, best.address)) and not is_passed(read(name)) then
        head.group = name
        best = head
      end
    end
    return best and pop(best, fresh)
  end

  -- The head of the parked line whose tenant has the fewest in flight, taken out.
  function fair.pop_noisy(fresh)
    local best, fewest
    for name, head in pairs(parked_heads(fresh)) do
      local n = read(name).n
      if head and (not best or n < fewest or (n == fewest and is_before(head.address, best.address))) then
        head.group = name
        best, fewest = head, n
      end
    end
    return best and pop(best, fresh)
  end

  -- True: the tenant is noisy, and the message now stands at the end of its parked line.
  function fair.park_if_noisy(m, item)
    local t = tenant_of(m)
    if not t or not is_passed(t) then
      return false
    end
    local last = line_of_tenant(t.name, 'ZREVRANGEBYLEX')
    stand(t.name, last and position_of(t.name, last) + 1 or 5000000000000000, item)
    if heads and not heads[t.name] then
      m.member = line_of_tenant(t.name)
      heads[t.name] = m
    end
    return true
  end

  function fair.oldest_parked(fresh)
    local oldest
    for _, head in pairs(parked_heads(fresh)) do
      if head and (not oldest or sent_of(head) < sent_of(oldest)) then
        oldest = head
      end
    end
    return oldest
  end

  function fair.noisy_count()
    local count = 0
    for _, name in ipairs(call('SMEMBERS', NOISY)) do
      if name ~= BLANK and is_noisy(read(name)) then
        count = count + 1
      end
    end
    return count
  end

  -- Writes back; idle tenants are forgotten.
  function fair.save()
    total.backlog, total.last_send = total.ungrouped, total.backlogged
    local words = {}
    for name, t in pairs(known) do
      if t ~= total and is_idle(t) then
        call('HDEL', TENANTS, name)
        call('SREM', NOISY, name)
      else
        words[#words + 1] = name
        words[#words + 1] = table.concat({ t.backlog, t.last_send, t.n, t.since, t.window, t.busy, t.earlier }, ' ')
      end
    end
    call_many('HSET', TENANTS, words)
  end

  return fair
end

local function begin_tenants(s, ready, in_flight)
  s.is_fair = true
  set(s, 'is_fair', '1')
  call('HSET', BASE .. 'tenants', BLANK, table.concat({ ready, 0, in_flight, now, math.floor(now / WINDOW), 0, 0 }, ' '))
  call('ZADD', BASE .. 'parked', 0, BLANK)
  call('SADD', BASE .. 'noisy', BLANK)
  for _, name in ipairs({ 'tenants', 'parked', 'noisy' }) do
    call('PEXPIRE', BASE .. name, math.max(1, s.expires - now))
  end
  return fair_tenants()
end
