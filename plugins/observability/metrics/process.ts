import { type EventLoopUtilization, monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { MetricSample } from 'zin'

const resolutionMs = 20
const percentiles = [50, 90, 99] as const

/** Measures CPU, memory, garbage collection and event loop of this process, from `open` to `close`. */
export class ProcessMetrics {
  #delay: ReturnType<typeof monitorEventLoopDelay> | undefined
  #observer: PerformanceObserver | undefined
  #gc = { runs: 0, ms: 0 }
  #lags: readonly number[] = []
  #utilization: EventLoopUtilization = performance.eventLoopUtilization()

  open(): void {
    this.#delay = monitorEventLoopDelay({ resolution: resolutionMs })
    this.#delay.enable()
    this.#observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        this.#gc.runs++
        this.#gc.ms += duration
      }
    })
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  close(): void {
    this.#delay?.disable()
    this.#delay = undefined
    this.#observer?.disconnect()
    this.#observer = undefined
  }

  samples(): readonly MetricSample[] {
    const { system, user } = process.cpuUsage()
    const memory = process.memoryUsage()
    return [
      counter('process_cpu_seconds_total', 'User and system time of the process', (system + user) / 1e6),
      gauge('process_start_time_seconds', 'Start time of the process, in seconds since 1970', performance.timeOrigin / 1000),
      gauge('process_resident_memory_bytes', 'Resident memory of the process', memory.rss),
      gauge('nodejs_heap_used_bytes', 'Used V8 heap', memory.heapUsed),
      gauge('nodejs_heap_limit_bytes', 'Heap size limit, at which V8 aborts the process', getHeapStatistics().heap_size_limit),
      gauge('nodejs_external_memory_bytes', 'Memory outside the heap that is bound to heap objects', memory.external),
      counter('nodejs_gc_runs_total', 'Garbage collections', this.#gc.runs),
      counter('nodejs_gc_seconds_total', 'Time spent in garbage collection', this.#gc.ms / 1000),
      gauge(
        'nodejs_eventloop_utilization_ratio',
        'Share of time that the event loop was busy since the last collection, 0 to 1',
        this.#busy(),
      ),
      ...this.#lag(),
      { ...gauge('nodejs_version_info', 'Version of Node.js', 1), labels: { version: process.version } },
    ]
  }

  #busy(): number {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, this.#utilization)
    this.#utilization = now
    return Number.isFinite(utilization) ? utilization : 0
  }

  /** How late timers fired since the last collection; repeats the last values if none has fired since. */
  #lag(): readonly MetricSample[] {
    const delay = this.#delay
    if (delay !== undefined && delay.count > 0) {
      this.#lags = percentiles.map((percent) => secondsOf(delay.percentile(percent)))
      delay.reset()
    }
    return percentiles.map((percent, index) =>
      gauge(
        `nodejs_eventloop_lag_p${percent}_seconds`,
        `How late timers fired since the last collection: ${percent}th percentile`,
        this.#lags[index] ?? 0,
      ),
    )
  }
}

/** Converts to seconds, without the interval of the timer itself. */
function secondsOf(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000)
}

function counter(name: string, help: string, value: number): MetricSample {
  return { name, help, type: 'counter', value }
}

function gauge(name: string, help: string, value: number): MetricSample {
  return { name, help, type: 'gauge', value }
}
