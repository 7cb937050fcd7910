// What workers on Redis do besides BullMQ.
import type { Worker } from 'bullmq'
import type { RedisClient } from 'zin/plugins/redis'

/** KEYS: the meta key, the jobs with a priority, the marker that wakes a worker. */
const wakeScript = `
if redis.call('HEXISTS', KEYS[1], 'paused') == 0 and redis.call('EXISTS', KEYS[2]) == 1 then redis.call('ZADD', KEYS[3], 0, '0') end`

/**
 * Ends the blocking wait of a worker that is closed, also when its connection is being replaced: the command would wait for the next one.
 * Prevents a pause that is still pending when the worker is closed from reconnecting it afterwards.
 */
export function staysClosed(worker: Worker): Worker {
  const closed = (): Error => new Error('Connection is closed.')
  const whenConnected = (use: (client: BlockingClient) => void): void => {
    ;(worker.getBackend().blockingClient as Promise<BlockingClient> | undefined)?.then(use, () => undefined)
  }
  let end = (): void => undefined
  whenConnected((client) => {
    const bzpopmin = client.bzpopmin.bind(client)
    client.bzpopmin = (...args) =>
      new Promise((resolve, reject) => {
        end = () => reject(closed())
        if (worker.closing === undefined) bzpopmin(...args).then(resolve, reject)
        else end()
      })
  })
  worker.once('closing', () => {
    whenConnected((client) => {
      client.connect = () => Promise.reject(closed())
    })
    end()
  })
  return worker
}

interface BlockingClient {
  bzpopmin(...args: readonly unknown[]): Promise<unknown>
  connect(): Promise<unknown>
}

/**
 * Makes a worker that returns a job with a priority to its queue wake an idle worker. BullMQ does so for other jobs only, and an idle worker
 * would take this one when it polls next.
 */
export function wakesOthers(worker: Worker, redis: RedisClient): Worker {
  const backend = worker.getBackend()
  const move = backend.moveJobFromActiveToWait.bind(backend)
  const keys = ['meta', 'prioritized', 'marker'].map((key) => worker.toKey(key))
  backend.moveJobFromActiveToWait = async (id, token) => {
    const result = await move(id, token)
    // The job has returned in any case.
    await redis.eval(wakeScript, keys.length, ...keys).catch(() => undefined)
    return result
  }
  return worker
}
