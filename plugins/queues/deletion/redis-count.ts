import { mostAnchors } from './contract.js'
import { deleting, reading, shared } from './redis-scripts.js'

/**
 * Counts the jobs in a window. The numbers: how many jobs and bytes can still be restored, how many ids are wanted, and 1 to look for
 * parents. Returns how many jobs were examined, the numbers of `CountedJobs`, the number of its ids and of its parents, and these; then the ids
 * of the last jobs of the window.
 */
export const countStepScript = `${shared}${deleting}${reading}
local roomJobs, roomBytes, wanted, asksParents = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), ARGV[13] == '1'
local free, freeFailing, flow, flowFailing, scheduled, restorable, bytes, sample, parents = 0, 0, 0, 0, 0, 0, 0, {}, {}
for _, id in ipairs(ids) do
  local job = base .. id
  local facts = factsOf(job)
  if facts.at < before and facts.attempts <= mostAttempts then
    if #sample < wanted then sample[#sample + 1] = id end
    if asksParents and call('EXISTS', job .. ':unsuccessful') == 1 then parents[#parents + 1] = id end
    if isScheduled(id, facts) then scheduled = scheduled + 1
    elseif isInFlow(job, facts) then
      if facts.failing then flowFailing = flowFailing + 1 else flow = flow + 1 end
    else
      if facts.failing then freeFailing = freeFailing + 1 else free = free + 1 end
      if restorable < roomJobs and not isErased(id, facts.added) then
        local size = bytesOf(job, partsOf(job))
        if bytes + size <= roomBytes then restorable = restorable + 1; bytes = bytes + size end
      end
    end
  end
end
local reply = { #ids, free, freeFailing, flow, flowFailing, scheduled, restorable, bytes, #sample, #parents }
for _, id in ipairs(sample) do reply[#reply + 1] = id end
for _, id in ipairs(parents) do reply[#reply + 1] = id end
for i = math.max(1, #ids - ${mostAnchors - 1}), #ids do reply[#reply + 1] = ids[i] end
return reply`
