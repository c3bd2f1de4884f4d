-- include: common
-- Residency a|i|r and epoch. Changes nothing.
-- Keys: state.

use(KEYS[1])
local s = open()
if not s then
  return { 'a', '0' }
end
return { s.residency, call('HGET', STATE, 'epoch') }
