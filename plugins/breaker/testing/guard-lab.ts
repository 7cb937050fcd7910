import type { TestContext } from 'node:test'
import { type Cluster, localCluster, MemoryHub } from 'zin/plugins/cluster'
import type { Kv } from 'zin/plugins/kv'
import type { AttemptOutcome, JobContext } from 'zin/plugins/workers'
import { fakeClock, memoryLogger } from 'zin/testing'
import { Guards, type Transition } from '../guards.js'
import { breakerOptions } from '../options.js'
import type { BreakerRules } from '../rules.js'
import { SharedCircuits } from '../shared-circuits.js'
import { memoryKv } from './memory-kv.js'

/** Dependencies of the circuits of a process. */
export interface Connection {
  readonly kv: Pick<Kv, 'delete' | 'get' | 'getMany' | 'set'>
  readonly cluster: Pick<Cluster, 'node' | 'on' | 'send'>
}

export const worker = 'mailer'

/** Two processes that guard the worker `mailer`, share a store and receive each other's messages. They do not poll. */
export async function guardLab(t: TestContext, changes: Partial<BreakerRules> = {}) {
  const clock = fakeClock()
  const logs = memoryLogger()
  const hub = new MemoryHub()
  const kv = memoryKv()
  const connect = async (index: number): Promise<Connection> => {
    const cluster = localCluster({ node: { id: `node-${index}` }, clock, log: logs, hub })
    await cluster.open()
    t.after(() => cluster.close())
    return { kv, cluster }
  }
  const lab = await connectedLab(t, [await connect(0), await connect(1)], changes, { clock, logs })
  return { ...lab, kv }
}

/** The same with real connections. */
export async function connectedLab(
  t: TestContext,
  connections: readonly [Connection, Connection],
  changes: Partial<BreakerRules> = {},
  { clock, logs } = { clock: fakeClock(), logs: memoryLogger() },
) {
  const transitions: string[] = []
  const one = async ({ kv, cluster }: Connection) => {
    const shared = new SharedCircuits({ kv, cluster, log: logs })
    let attached = 0
    const guards = new Guards({
      shared,
      node: cluster.node.id,
      clock,
      log: logs,
      random: () => 0,
      attach: () => {
        attached++
        return () => attached--
      },
      onTransition: ({ before, after }: Transition) => transitions.push(`${before?.state ?? 'closed'} → ${after?.state ?? 'closed'}`),
    })
    let heard: () => void = () => undefined
    t.after(shared.onChange(() => void guards.refresh(worker).then(heard)))
    await guards.add(worker, { ...breakerOptions.defaults, ...changes })
    return {
      guards,
      shared,
      attached: () => attached,
      /** Resolves when it has read a change by another process. */
      hears: () => new Promise<void>((resolve) => (heard = resolve)),
      /** Starts an attempt; resolves to `ran`, or the delay of its job in ms. */
      begin: async (id: string, name = 'mail'): Promise<'ran' | number> => {
        const context = { worker, job: { id, name }, delay: async (ms: number) => ms } as unknown as JobContext
        return (await guards.middleware(context, async () => 'ran')) as 'ran' | number
      },
      end: (id: string, outcome: AttemptOutcome, name = 'mail') => guards.attemptEnded({ worker, outcome, job: { id, name } as never }),
    }
  }
  const [first, second] = [await one(connections[0]), await one(connections[1])]
  /** Fails five jobs in the first process, and waits until the second one has read that. */
  const open = async () => {
    const heard = second.hears()
    for (const id of ['f1', 'f2', 'f3', 'f4', 'f5']) await first.end(id, 'failed')
    await heard
  }
  return { clock, first, logs, open, second, transitions }
}
