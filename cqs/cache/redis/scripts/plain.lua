-- The line of a standard shard: list (and late) of items address + place. An item removed from the middle stays behind
-- and is stale: its message is gone, hidden, or has another item with another place.

local function plain_line(s)
  local line = {}
  local list, late = BASE .. 'list', BASE .. 'late'
  local back = s.is_ready and not s.is_late and list or late
  local front = s.is_ready and list or late
  local picked, looks_left = {}, LOOKS_MAX

  local function item_of(m)
    return m.place == 0 and m.address or m.address .. m.place
  end

  local function push(command, key, items)
    for from = 1, #items, 1000 do
      local to = math.min(from + 999, #items)
      if call(command, key, unpack(items, from, to)) == to - from + 1 then
        expire_with(s, key)
      end
    end
  end

  -- The records of items that are not stale, each once. (A message put again long after its removal has two items.)
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

  -- late becomes list once list is empty; true when it did.
  local function turn_page()
    if s.is_ready and s.is_late then
      s.is_late, s.is_changed, back = false, true, list
      if call('EXISTS', late) == 1 then
        call('RENAME', late, list)
        return true
      end
    end
    return false
  end

  local function items_of(messages, is_reversed)
    local items, count = {}, #messages
    for i, m in ipairs(messages) do
      items[is_reversed and count + 1 - i or i] = item_of(m)
    end
    return items
  end

  -- The first record of the list that is not stale. nil = none is left or, with true, it stands behind too many.
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
    return nil, true
  end

  local function nothing() end

  line.item_of, line.fresh, line.picked = item_of, fresh, picked
  line.start, line.finish, line.leave, line.close_turn, line.save = nothing, nothing, nothing, nothing, nothing

  function line.join(messages)
    push('RPUSH', back, items_of(messages))
  end

  function line.rejoin(messages)
    push('LPUSH', front, items_of(messages, true))
  end

  function line.undo(m)
    line.rejoin({ m })
  end

  function line.fill(messages)
    push('RPUSH', list, items_of(messages))
  end

  function line.end_fill()
    back, front = list, list
    if call('EXISTS', late) == 1 then
      if call('EXISTS', list) == 1 then
        s.is_late, back = true, late
      else
        call('RENAME', late, list)
      end
    end
  end

  -- Takes out records, which the caller puts back or marks as picked.
  function line.pop(n)
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

  function line.next(n)
    local found = line.pop(n)
    for _, m in ipairs(found or {}) do
      picked[m.address] = true
    end
    return found
  end

  -- Roughly the ready message that has waited longest.
  function line.head()
    local head, is_hidden = first_of(front)
    if not head and not is_hidden and turn_page() then
      head, is_hidden = first_of(list)
    end
    return head, is_hidden
  end

  -- The same among messages received only a few times: its sent time, or nil.
  function line.oldest()
    local head = line.head()
    if not head then
      return nil
    end
    if head.count < RECEIVES_BEFORE_BACK then
      return sent_of(head)
    end
    local items = call('LRANGE', front, 0, OLDEST_LOOKS_MAX - 2)
    if s.is_ready and s.is_late and #items < OLDEST_LOOKS_MAX - 1 then
      for _, item in ipairs(call('LRANGE', late, 0, OLDEST_LOOKS_MAX - 2 - #items)) do
        items[#items + 1] = item
      end
    end
    for _, m in ipairs(fresh(items)) do
      if m.count < RECEIVES_BEFORE_BACK then
        return sent_of(m)
      end
    end
    return nil
  end

  function line.standing()
    return call('LLEN', list) + call('LLEN', late)
  end

  function line.groups_in_flight()
    return 0
  end

  function line.noisy_groups()
    return 0
  end

  return line
end
