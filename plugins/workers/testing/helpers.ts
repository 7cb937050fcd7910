import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Logger } from 'zin'
import { type MemoryLogger, memoryLogger } from 'zin/testing'
import type { Cluster, ClusterMessage, NodeInfo, NodeStatus } from '../cluster/cluster.js'

export const silentLog: Logger = memoryLogger()

/** The levels of what was logged, oldest first. */
export const levelsOf = (log: MemoryLogger): readonly string[] => log.lines.map(({ level }) => level)

/** An object whose methods are its own, but for some. */
export function overriding<T extends object>(target: T, changes: Partial<T>): T {
  return new Proxy(target, {
    get(_target, key) {
      if (key in changes) return Reflect.get(changes, key)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

export function nodeInfo(id = `node-${randomUUID()}`): NodeInfo {
  return { id, host: 'host', pid: 1, region: 'eu', consumes: true, startedAt: 1_900_000_000_123 }
}

export function nodeStatus(worker: string, changes: Partial<NodeStatus> = {}): NodeStatus {
  const rest = { workerId: 'id', generation: 3, placed: true, version: '1.0.0', draining: { '0.9.0': 2 }, concurrency: 5, busy: 1 }
  return { worker, state: 'running', ...rest, at: 1_900_000_000_123, ...changes }
}

/** Polls until it is so; fails after 15 s. */
export async function eventually(what: string, test: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 15_000
  while (!(await test())) {
    if (performance.now() > deadline) assert.fail(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Hears what a test sends, and not what others do. */
export function hear(cluster: Cluster, mine: (message: ClusterMessage) => boolean = () => true) {
  const heard: ClusterMessage[] = []
  const unlisten = cluster.listen((message) => {
    if (mine(message)) heard.push(message)
  })
  return { heard, unlisten, count: (length: number) => eventually(`${length} messages`, () => heard.length >= length) }
}

/** How many timers this process has. */
export function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}
