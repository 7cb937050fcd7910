import { readFile } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { type EventLoopUtilization, type IntervalHistogram, monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { ResourceUsage } from '../snapshot.js'
import { type CgroupUsage, type ReadText, readCgroup } from './cgroup.js'

/** Interval of the timer that measures delays, in ms; the histogram values include it. */
const resolutionMs = 20

export interface SamplerParts {
  /** Measures the round trip to the store in ms; null if there is no response. */
  readonly pingStore: () => Promise<number | null>
  /** Default: reads from the file system. */
  readonly readText?: ReadText
}

export interface Sample {
  readonly spanMs: number
  readonly usage: ResourceUsage
}

/** Counters of the previous sample, to compute differences. */
interface Baseline {
  /** ms since the process started. */
  readonly at: number
  readonly utilization: EventLoopUtilization
  /** µs. */
  readonly cpu: number
  readonly throttledMs: number | null
}

/** Measures this process while it is open. While closed, it has no overhead. */
export class Sampler {
  readonly #parts: SamplerParts
  #delay: IntervalHistogram | undefined
  #observer: PerformanceObserver | undefined
  #gcMs = 0
  #before: Baseline | undefined

  constructor(parts: SamplerParts) {
    this.#parts = parts
  }

  open(): void {
    this.#delay = monitorEventLoopDelay({ resolution: resolutionMs })
    this.#delay.enable()
    this.#observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) this.#gcMs += duration
    })
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  close(): void {
    this.#delay?.disable()
    this.#observer?.disconnect()
    this.#delay = undefined
    this.#observer = undefined
    this.#before = undefined
    this.#gcMs = 0
  }

  /** Returns the usage since the previous sample, or since the process started for the first one. */
  async sample(): Promise<Sample> {
    const { pingStore, readText = readOrNothing } = this.#parts
    const [cgroup, storeMs] = await Promise.all([readCgroup(readText), pingStore()])
    const before = this.#before
    const { user, system } = process.cpuUsage()
    const now: Baseline = {
      at: performance.now(),
      utilization: performance.eventLoopUtilization(),
      cpu: user + system,
      throttledMs: cgroup.throttledMs,
    }
    this.#before = now
    const spanMs = now.at - (before?.at ?? 0)
    const { utilization } = before === undefined ? now.utilization : performance.eventLoopUtilization(now.utilization, before.utilization)
    const usage = {
      eventLoopUtilization: utilization,
      eventLoopDelayP50Ms: before === undefined ? null : this.#delayAt(50),
      eventLoopDelayP99Ms: before === undefined ? null : this.#delayAt(99),
      cpuCores: (now.cpu - (before?.cpu ?? 0)) / 1e3 / spanMs,
      gcMs: before === undefined ? null : this.#gcMs,
      throttledMs: spent(before?.throttledMs, now.throttledMs),
      storeMs,
      ...memoryOf(cgroup),
      cpuLimit: Math.min(cgroup.cpuLimit ?? Number.POSITIVE_INFINITY, availableParallelism()),
    }
    this.#delay?.reset()
    this.#gcMs = 0
    return { spanMs, usage }
  }

  #delayAt(percentile: number): number | null {
    const delay = this.#delay
    // Without values, the event loop was blocked all the time, or the sample was taken too soon.
    return delay === undefined || delay.count === 0 ? null : Math.max(0, delay.percentile(percentile) / 1e6 - resolutionMs)
  }
}

function memoryOf(
  cgroup: CgroupUsage,
): Pick<ResourceUsage, 'rss' | 'heapUsed' | 'heapLimit' | 'external' | 'memoryLimit' | 'containerMemory'> {
  const { rss, heapUsed, external } = process.memoryUsage()
  return {
    rss,
    heapUsed,
    heapLimit: getHeapStatistics().heap_size_limit,
    external,
    memoryLimit: Math.min(cgroup.memoryLimit ?? Number.POSITIVE_INFINITY, totalmem()),
    containerMemory: cgroup.memory,
  }
}

function spent(before: number | null | undefined, now: number | null): number | null {
  return before === undefined || before === null || now === null ? null : Math.max(0, now - before)
}

async function readOrNothing(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return undefined
  }
}
