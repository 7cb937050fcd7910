import type { ResourceSnapshot } from '../snapshot.js'

const mib = 1024 ** 2

/** Returns a snapshot of a mostly idle node, with the given fields overridden. */
export function snapshot(given: Partial<ResourceSnapshot> = {}): ResourceSnapshot {
  return {
    node: 'host:1:a',
    at: 0,
    spanMs: 30_000,
    eventLoopUtilization: 0.1,
    eventLoopDelayP50Ms: 1,
    eventLoopDelayP99Ms: 5,
    cpuCores: 0.1,
    cpuLimit: 2,
    rss: 100 * mib,
    heapUsed: 50 * mib,
    heapLimit: 1000 * mib,
    external: mib,
    gcMs: 10,
    memoryLimit: 2000 * mib,
    containerMemory: null,
    throttledMs: null,
    storeMs: 1,
    alerts: [],
    ...given,
  }
}
