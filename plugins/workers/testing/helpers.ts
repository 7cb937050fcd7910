import type { Clock, Logger } from 'zin'
import { localCluster, type MemoryHub } from 'zin/plugins/cluster'
import { type MemoryLogger, memoryLogger } from 'zin/testing'
import type { NodeStatus, StateStore } from '../shared/contract.js'
import { memoryState } from '../shared/memory.js'
import { SharedState } from '../shared/state.js'

export const silentLog: Logger = memoryLogger()

/** The levels of all log entries, oldest first. */
export const levelsOf = (log: MemoryLogger): readonly string[] => log.lines.map(({ level }) => level)

/** A proxy of an object that overrides some of its members. */
export function overriding<T extends object>(target: T, changes: Partial<T>): T {
  return new Proxy(target, {
    get(_target, key) {
      if (key in changes) return Reflect.get(changes, key)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** The shared state of a single process; those with the same hub see each other. */
export function localState({
  clock,
  node = 'here',
  store = memoryState({ clock }),
  hub,
}: {
  clock: Clock
  node?: string
  store?: StateStore
  hub?: MemoryHub
}) {
  const cluster = localCluster({ node: { id: node }, clock, log: silentLog, ...(hub === undefined ? {} : { hub }) })
  return { cluster, store, shared: new SharedState({ cluster, store }) }
}

export function nodeStatus(worker: string, changes: Partial<NodeStatus> = {}): NodeStatus {
  const rest = { workerId: 'id', generation: 3, placed: true, version: '1.0.0', draining: { '0.9.0': 2 }, concurrency: 5, busy: 1 }
  return { worker, state: 'running', ...rest, at: 1_900_000_000_123, ...changes }
}

/** The number of active timers of this process. */
export function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}
