-- The line of a standard shard whose messages have tenants (message groups): the plain line, plus parked lines for
-- tenants whose messages were passed over. Messages come from these sources, in this order: parked lines of tenants
-- that are quiet again (oldest head first); the main line, where messages of noisy tenants are parked as they are met;
-- the parked line of the noisy tenant with the fewest messages in flight. No message is ever left out.
--
--   parked  zset  all of score 0, ordered as text: group \0 position (16 digits) \0 address + place

-- include: tenants

local PARKED_TENANTS_MAX, PARKED_PER_TAKE_MAX = 1000, 1000
local FIRST_POSITION = 5000000000000000

local function fair_line(plain)
  local line = setmetatable({}, { __index = plain })
  local PARKED = BASE .. 'parked'
  local item_of, fresh, picked = plain.item_of, plain.fresh, plain.picked
  local parkings_left = PARKED_PER_TAKE_MAX
  local heads
  local is_any_hidden = false

  local function first_member(name)
    return call('ZRANGEBYLEX', PARKED, '[' .. name .. '\0', '(' .. name .. '\1', 'LIMIT', 0, 1)[1]
  end

  local function last_member(name)
    return call('ZREVRANGEBYLEX', PARKED, '(' .. name .. '\1', '[' .. name .. '\0', 'LIMIT', 0, 1)[1]
  end

  local tenants = tenants_of(first_member)

  local function position_of(name, member)
    return tonumber(string.sub(member, #name + 2, #name + 17))
  end

  local function stand(name, position, item)
    call('ZADD', PARKED, 0, name .. '\0' .. text(position) .. '\0' .. item)
  end

  -- The first message of a parked line; removes stale items before it. nil = none is left or, if `is_any_hidden`, it may
  -- stand behind too many.
  local function head_of(name)
    for _ = 1, LOOKS_MAX do
      local member = first_member(name)
      if not member then
        return nil
      end
      local m = fresh({ string.sub(member, #name + 19) })[1]
      if m then
        m.member, m.group = member, name
        return m
      end
      call('ZREM', PARKED, member)
    end
    is_any_hidden = true
    return nil
  end

  -- The heads of all parked lines, by tenant.
  local function parked_heads()
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
      heads[name] = head_of(name)
      from = '[' .. name .. '\1'
    end
    return heads
  end

  local function pop_head(m)
    call('ZREM', PARKED, m.member)
    heads[m.group] = head_of(m.group)
    return m
  end

  local function pop_quiet()
    local best
    for name, head in pairs(parked_heads()) do
      if (not best or is_before(head.address, best.address)) and not tenants.is_passed(name) then
        best = head
      end
    end
    return best and pop_head(best)
  end

  local function pop_noisy()
    local best, fewest
    for name, head in pairs(parked_heads()) do
      local n = tenants.in_flight(name)
      if not best or n < fewest or (n == fewest and is_before(head.address, best.address)) then
        best, fewest = head, n
      end
    end
    return best and pop_head(best)
  end

  local function park(m)
    local last = last_member(m.group)
    stand(m.group, last and position_of(m.group, last) + 1 or FIRST_POSITION, item_of(m))
    parked_heads()[m.group] = heads[m.group] or head_of(m.group)
  end

  -- Puts the message at the front of its tenant's parked line, if there is one.
  local function return_parked(m)
    local name = tenants.group_of(m)
    local first = name ~= '' and parked_heads()[name] and first_member(name)
    if not first then
      return false
    end
    stand(name, position_of(name, first) - 1, item_of(m))
    heads[name] = head_of(name)
    return true
  end

  -- A message picked in this step with visibility 0 is ready again.
  local function arrived(m)
    tenants.arrived(m)
    picked[m.address] = nil
  end

  local function all_arrived(messages)
    for _, m in ipairs(messages) do
      arrived(m)
    end
    return messages
  end

  function line.join(messages)
    plain.join(all_arrived(messages))
  end

  function line.fill(messages)
    plain.fill(all_arrived(messages))
  end

  function line.rejoin(messages)
    local is_parked, others = {}, {}
    for i = #messages, 1, -1 do
      arrived(messages[i])
      is_parked[i] = return_parked(messages[i])
    end
    for i, m in ipairs(messages) do
      if not is_parked[i] then
        others[#others + 1] = m
      end
    end
    plain.rejoin(others)
  end

  function line.undo(m)
    tenants.finished(m)
    line.rejoin({ m })
  end

  function line.leave(m)
    tenants.left(m)
    heads = nil
  end

  function line.next()
    local m = pop_quiet()
    while not m and parkings_left > 0 do
      local found = plain.pop(1)
      if not found then
        break
      end
      if tenants.is_passed(tenants.group_of(found[1])) then
        park(found[1])
        parkings_left = parkings_left - 1
      else
        m = found[1]
      end
    end
    m = m or pop_noisy()
    if not m then
      line.is_unfinished = plain.is_unfinished or is_any_hidden
      return nil
    end
    picked[m.address] = true
    tenants.departed(m)
    return { m }
  end

  line.start, line.finish, line.save, line.noisy_groups, line.prune =
    tenants.started, tenants.finished, tenants.save, tenants.noisy_count, tenants.prune

  function line.standing()
    return plain.standing() + call('ZCARD', PARKED) - 1
  end

  function line.head()
    local best, is_hidden = plain.head()
    for _, head in pairs(parked_heads()) do
      if not best or sent_of(head) < sent_of(best) then
        best = head
      end
    end
    return best, is_hidden or is_any_hidden
  end

  function line.oldest()
    local head = line.head()
    if head and head.count < RECEIVES_BEFORE_BACK then
      return sent_of(head)
    end
    return plain.oldest()
  end

  return line
end
