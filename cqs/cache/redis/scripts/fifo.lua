-- The line of a FIFO shard. All groups share a few keys; a message's member in them: group \0 sequence \0 address.
--
--   fifo    zset  ready messages, all of score 0: ordered by group, sequence, address
--   locks   zset  in-flight messages, likewise. A group hands out only what precedes its first one here
--   busy    hash  group -> how many of its messages are in flight
--   groups  zset  the rotation: groups with messages to hand out, by turn. While the shard fills, the turn is the
--                 sequence of the first message; later, counters in the state: `turn` at the end, `front` before all
--   ages    zset  ready messages (addresses) by sent_ms
--
-- Sequences have 61 bits and lose their last 8 in a score: groups first sent to within about the same microsecond may
-- swap turns after a fill; the order within a group is exact, since it is that of text.

local BACK = 4611686018427387904
local STEP = 1024

local function fifo_line(s)
  local line = {}
  local FIFO, LOCKS, BUSY = BASE .. 'fifo', BASE .. 'locks', BASE .. 'busy'
  local GROUPS, AGES = BASE .. 'groups', BASE .. 'ages'
  local group, lock
  local served = {}
  local is_filling = not s.is_ready

  local function member_of(m)
    if not m.member then
      local sequence, name = string.match(m.meta, '^%d+ (%d+) (.*)$')
      m.group = name
      m.member = name .. '\0' .. sequence .. '\0' .. m.address
    end
    return m.member
  end

  local function first_of(key, name)
    return call('ZRANGEBYLEX', key, '[' .. name .. '\0', '(' .. name .. '\1', 'LIMIT', 0, 1)[1]
  end

  -- Digits compare alike in every locale; addresses, which may be any bytes, are compared only if necessary.
  local function stands_before(name, a, b)
    local at = #name + 2
    local x, y = string.sub(a, at, at + 19), string.sub(b, at, at + 19)
    if x ~= y then
      return x < y
    end
    return is_before(string.sub(a, -16), string.sub(b, -16))
  end

  -- Adds the group to the rotation if it has messages to hand out; removes an empty one.
  local function offer(name, is_first)
    local first, held = first_of(FIFO, name), first_of(LOCKS, name)
    local has_work = first and (not held or stands_before(name, first, held))
    if is_filling then
      if has_work then
        call('ZADD', GROUPS, string.sub(first, #name + 2, #name + 21), name)
      else
        call('ZREM', GROUPS, name)
      end
    elseif has_work then
      if not call('ZSCORE', GROUPS, name) then
        local score = is_first and -call('HINCRBY', STATE, 'front', 1)
          or text(BACK + call('HINCRBY', STATE, 'turn', 1) * STEP)
        call('ZADD', GROUPS, score, name)
      end
    elseif not first and not held then
      call('ZREM', GROUPS, name)
    end
  end

  local function add(m, is_first)
    local member = member_of(m)
    call('ZADD', FIFO, 0, member)
    call('ZADD', AGES, sent_of(m), m.address)
    offer(m.group, is_first)
  end

  local function unlock(m)
    call('ZREM', LOCKS, member_of(m))
    if call('HINCRBY', BUSY, m.group, -1) == 0 then
      call('HDEL', BUSY, m.group)
    end
  end

  function line.join(messages)
    for _, m in ipairs(messages) do
      add(m)
    end
  end

  line.rejoin, line.fill = line.join, line.join

  function line.undo(m)
    unlock(m)
    add(m, true)
  end

  function line.leave(m)
    call('ZREM', FIFO, member_of(m))
    call('ZREM', AGES, m.address)
    offer(m.group)
  end

  function line.start(m)
    call('ZADD', LOCKS, 0, member_of(m))
    call('HINCRBY', BUSY, m.group, 1)
    if is_filling then
      offer(m.group)
    end
  end

  function line.finish(m)
    unlock(m)
    offer(m.group)
  end

  -- Up to n records of one group, taken out of the line; nil when no group has messages to hand out. Messages in flight
  -- when the group's turn began lock it; those handed out by this take do not.
  function line.next(n)
    for _ = 1, LOOKS_MAX do
      if group then
        local addresses, members = {}, {}
        for _, member in ipairs(call('ZRANGEBYLEX', FIFO, '[' .. group .. '\0', '(' .. group .. '\1', 'LIMIT', 0, n)) do
          if lock and not stands_before(group, member, lock) then
            break
          end
          members[#members + 1] = member
          addresses[#addresses + 1] = string.sub(member, -16)
        end
        if #members > 0 then
          call_many('ZREM', FIFO, members)
          call_many('ZREM', AGES, addresses)
          return load(addresses)
        end
      end
      group = call('ZRANGE', GROUPS, 0, 0)[1]
      if group == BLANK then
        group = nil
        return nil
      end
      call('ZREM', GROUPS, group)
      lock = first_of(LOCKS, group)
      served[#served + 1] = group
    end
    line.is_unfinished = true
    return nil
  end

  function line.close_turn()
    for _, name in ipairs(served) do
      offer(name)
    end
  end

  function line.end_fill()
    is_filling = false
  end

  function line.head()
    local address = call('ZRANGE', AGES, 0, 0)[1]
    return address ~= BLANK and load({ address })[1] or nil
  end

  function line.oldest()
    local addresses = call('ZRANGE', AGES, 0, OLDEST_LOOKS_MAX - 1)
    if addresses[#addresses] == BLANK then
      addresses[#addresses] = nil
    end
    for _, m in ipairs(load(addresses)) do
      if m.count < RECEIVES_BEFORE_BACK then
        return sent_of(m)
      end
    end
    return nil
  end

  function line.standing()
    return call('ZCARD', FIFO) - 1
  end

  function line.groups_in_flight()
    return call('HLEN', BUSY) - 1
  end

  function line.noisy_groups()
    return 0
  end

  function line.save() end

  return line
end
