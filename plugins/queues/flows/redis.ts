import type { RedisClient } from 'zin/plugins/redis'
import type { ChangedJob, FlowBackend, FlowChange, FlowRefusal } from './contract.js'
import { hastenScript, releaseScript, removeBelowScript, removeScript, retryScript, uncountScript } from './redis-scripts.js'

type Reply = readonly [refused: string, child?: string] | readonly (readonly string[])[]

/** @param prefix of the keys of all queues. */
export function redisFlows(redis: RedisClient, prefix: string): FlowBackend {
  const run = async (script: string, ...args: readonly string[]): Promise<Reply> =>
    (await redis.eval(script, 1, `${prefix}:`, ...args)) as Reply
  return {
    removeJob: async (queue, id, { ended, keepsBelow = false }) =>
      changeOf(await run(removeScript, queue, id, ended ? '1' : '', keepsBelow ? '1' : '')),
    removeBelow: async (queue, id) => changeOf(await run(removeBelowScript, queue, id)).jobs ?? [],
    retryJob: async (queue, id, { resetAttempts = false }) => changeOf(await run(retryScript, queue, id, resetAttempts ? '1' : '')),
    async unlocked(queue, ids) {
      const pipeline = redis.pipeline()
      for (const id of ids) pipeline.exists(`${prefix}:${queue}:${id}:lock`).lpos(`${prefix}:${queue}:active`, id)
      const replies = ((await pipeline.exec()) ?? []).map(([error, reply]) => {
        if (error) throw error
        return reply
      })
      return ids.filter((_id, index) => replies[2 * index] === 0 && replies[2 * index + 1] !== null)
    },
    release: async (queue, id) => changeOf(await run(releaseScript, queue, id)).jobs !== undefined,
    hasten: async (parentKey) => void (await redis.eval(hastenScript, 1, `${prefix}:`, ...placeOf(parentKey))),
    uncount: async (queue, id) => void (await run(uncountScript, queue, id)),
  }
}

/** The queue and the id of a job, from its key. */
function placeOf(key: string): readonly [queue: string, id: string] {
  const [queue = '', id = ''] = key.split(':').slice(-2)
  return [queue, id]
}

function changeOf(reply: Reply): FlowChange {
  const [first, child] = reply
  if (typeof first === 'string') return { refused: first as FlowRefusal, ...(typeof child === 'string' && { child }) }
  return { jobs: (reply as readonly (readonly string[])[]).map(jobOf) }
}

function jobOf([queue = '', id = '', state = '', at, attempts]: readonly string[]): ChangedJob {
  return { queue, id, state, at: Number(at), attempts: Number(attempts) }
}
