-- The line of a standard shard: list (and late), in which a message stands as its address + place. What left from the
-- middle stays behind and is stale: its message is gone, hidden, or stands elsewhere under another place.

local function standard_line(s)
  local line = {}
  local list, late = BASE .. 'list', BASE .. 'late'
  local back, front = list, list
  if not s.is_ready then
    back, front = late, late
  elseif s.is_late then
    back = late
  end
  local fair = s.is_fair and fair_tenants() or nil
  local parkings_left = 1000
  local looks_left = LOOKS_MAX
  local picked = {}

  local function push(command, key, items)
    for from = 1, #items, 1000 do
      local to = math.min(from + 999, #items)
      if call(command, key, unpack(items, from, to)) == to - from + 1 then
        call('PEXPIRE', key, math.max(1, s.expires - now))
      end
    end
  end

  local function item_of(m)
    return m.place == 0 and m.address or m.address .. m.place
  end

  -- The records of items that are not stale, each once. (A message put again long after its removal stands twice.)
  local function fresh(items)
    local addresses, found, seen = {}, {}, {}
    if #items == 0 then
      return found
    end
    for i, item in ipairs(items) do
      addresses[i] = string.sub(item, 1, 16)
    end
    local scores = s.delayed > 0 and call('ZMSCORE', DUE, unpack(addresses))
    for i, m in ipairs(load(addresses)) do
      local is_taken = m and (m.ends > 0 or picked[m.address] or seen[m.address] or (scores and scores[i]))
      if m and not is_taken and items[i] == item_of(m) then
        seen[m.address] = true
        found[#found + 1] = m
      end
    end
    return found
  end

  -- late becomes list once that is empty; true when it did.
  local function turn_page()
    if s.is_ready and s.is_late then
      s.is_late, back = false, list
      set(s, 'is_late', '')
      if call('EXISTS', late) == 1 then
        call('RENAME', late, list)
        return true
      end
    end
    return false
  end

  -- Takes up to n records out of list; nil at its end.
  local function pop(n)
    while looks_left > 0 do
      local items = call('LPOP', list, n)
      if items and #items > 0 then
        looks_left = looks_left - #items
        local found = fresh(items)
        if #found > 0 then
          return found
        end
      elseif not turn_page() then
        return nil
      end
    end
    line.is_unfinished = true
    return nil
  end

  function line.join(messages)
    local items = {}
    for i, m in ipairs(messages) do
      items[i] = item_of(m)
      if fair then
        fair.arrived(m)
      end
    end
    push('RPUSH', back, items)
  end

  function line.rejoin(messages)
    local items = {}
    for i = #messages, 1, -1 do
      if not (fair and fair.returned(messages[i], item_of(messages[i]))) then
        items[#items + 1] = item_of(messages[i])
      end
    end
    push('LPUSH', front, items)
  end

  function line.fill(messages)
    local items = {}
    for i, m in ipairs(messages) do
      items[i] = item_of(m)
      if fair then
        fair.arrived(m)
      end
    end
    push('RPUSH', list, items)
  end

  function line.end_fill()
    back, front = list, list
    if call('EXISTS', late) == 1 then
      if call('EXISTS', list) == 1 then
        s.is_late, back = true, late
        set(s, 'is_late', '1')
      else
        call('RENAME', late, list)
      end
    end
  end

  -- The message is gone, or its place was raised: what stands in the line is stale.
  function line.leave(m)
    if fair then
      fair.left(m)
    end
  end

  function line.start(m)
    if fair then
      fair.started(m)
    end
  end

  function line.finish(m)
    if fair then
      fair.finished(m)
    end
  end

  function line.undo(m)
    line.finish(m)
    line.rejoin({ m })
  end

  -- Up to n records, taken out of the line; nil when it is empty.
  function line.next(n)
    if not fair then
      local found = pop(n)
      for _, m in ipairs(found or {}) do
        picked[m.address] = true
      end
      return found
    end
    local m = fair.pop_quiet(fresh)
    while not m and parkings_left > 0 do
      local found = pop(1)
      if not found then
        break
      end
      parkings_left = parkings_left - 1
      if not fair.park_if_noisy(found[1], item_of(found[1])) then
        m = found[1]
      end
    end
    m = m or fair.pop_noisy(fresh)
    if not m then
      return nil
    end
    picked[m.address] = true
    fair.departed(m)
    return { m }
  end

  function line.close_turn() end

  local function first_of(key)
    for _ = 1, LOOKS_MAX do
      local item = call('LINDEX', key, 0)
      if not item then
        return nil
      end
      local m = fresh({ item })[1]
      if m then
        return m
      end
      call('LPOP', key)
    end
    return nil
  end

  -- The ready message that waits longest, roughly.
  function line.head()
    local head = first_of(front)
    if not head and turn_page() then
      head = first_of(list)
    end
    local parked = fair and fair.oldest_parked(fresh)
    if parked and (not head or sent_of(parked) < sent_of(head)) then
      return parked
    end
    return head
  end

  -- The same among those received a few times at most: its sent time, or nil.
  function line.oldest()
    local head = line.head()
    if not head then
      return nil
    end
    local items = call('LRANGE', front, 0, OLDEST_LOOKS_MAX - 2)
    if s.is_ready and s.is_late and #items < OLDEST_LOOKS_MAX - 1 then
      for _, item in ipairs(call('LRANGE', late, 0, OLDEST_LOOKS_MAX - 2 - #items)) do
        items[#items + 1] = item
      end
    end
    local found = fresh(items)
    table.insert(found, 1, head)
    for _, m in ipairs(found) do
      if m.count < RECEIVES_BEFORE_BACK then
        return sent_of(m)
      end
    end
    return nil
  end

  function line.groups_in_flight()
    return 0
  end

  function line.noisy_groups()
    return fair and fair.noisy_count() or 0
  end

  -- Messages have tenants from now on; before this call `ready` were ready and `in_flight` in flight.
  function line.begin_fairness(ready, in_flight)
    if not fair then
      fair = begin_tenants(s, ready, in_flight)
    end
  end

  function line.save()
    if fair then
      fair.save()
    end
  end

  return line
end
