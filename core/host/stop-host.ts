import type { HookBus } from '../hooks/bus.js'
import type { HttpApp } from '../http/app.js'
import type { Logger } from '../log/types.js'
import { DeadlineError, withDeadline } from '../util/deadline.js'
import type { Lifecycle } from './lifecycle.js'
import { removeRunFile } from './run-file.js'
import { type ShutdownReport, shutdownReport } from './shutdown.js'
import type { ShutdownTime } from './shutdown-time.js'

export interface StopHostOptions {
  readonly reason: string
  /** The host has a port open. */
  readonly listens: boolean
  /** Time between readiness 503 and closing the port, in ms. */
  readonly delayMs: number
  readonly dataDir: string
  readonly time: ShutdownTime
  readonly bus: HookBus
  readonly http: HttpApp
  readonly lifecycle: Lifecycle
  readonly log: Logger
}

/** Maximum share of the remaining time that a phase may take, so that time is left for later phases. */
const share = { boot: 1 / 3, onClose: 1 / 3, delay: 1 / 2, drain: 2 / 3 }
/** Maximum wait for requests in flight, in ms. */
const maxDrainMs = 20_000

/** Waits for a pending boot, enable or disable for its share of the time, then abandons plugins that are still starting. */
export async function endBoot(turn: Promise<unknown>, time: ShutdownTime): Promise<void> {
  await unlessLate(turn, time.leftMs * share.boot)
  time.cutBoot()
}

/** Shuts an app down: `onClose` listeners, the delay, requests in flight, then plugins in reverse order, each within the remaining time. */
export async function stopHost(options: StopHostOptions): Promise<ShutdownReport> {
  const { bus, http, lifecycle, time, log } = options
  const failures = await unlessLate(bus.slot('onClose').call(options.reason), time.leftMs * share.onClose)
  for (const { plugin, error } of failures ?? []) log.error({ plugin, err: error }, 'a listener of onClose failed')
  let forced = 0
  if (options.listens) {
    http.setDraining()
    const delayMs = Math.min(options.delayMs, time.leftMs * share.delay)
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
    forced = (await http.drain({ deadlineMs: Math.min(maxDrainMs, time.leftMs * share.drain) })).forced
    await removeRunFile(options.dataDir)
  }
  const report = shutdownReport(await lifecycle.stopAll(), forced)
  for (const note of report.notes) log.info(note)
  for (const line of report.lines) log.error(line)
  return report
}

/** Returns the result of `work`, or undefined if it takes longer than `ms`. */
async function unlessLate<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  try {
    return await withDeadline(work, ms, '')
  } catch (error) {
    if (error instanceof DeadlineError) return undefined
    throw error
  }
}
