import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import { DeadlineError, withDeadline } from '../util/deadline.js'
import { hostErrors } from './errors.js'
import type { ShutdownTime } from './shutdown-time.js'
import type { PluginPhase } from './states.js'
import type { PluginUnit } from './unit.js'

/** Longest time of a phase of one plugin, in ms, unless the plugin says otherwise. */
export const phaseDeadlines: Readonly<Record<PluginPhase, number>> = { setup: 10_000, start: 30_000, ready: 30_000, stop: 10_000 }

/** Wraps plugin code; a test host uses it to trace resources. */
export type Instrument = <T>(plugin: string, run: () => T) => T

export interface PhaseOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly instrument: Instrument
  readonly shutdown: ShutdownTime
}

/**
 * Runs one phase of one plugin with a deadline; the error names the plugin, the phase and the pending step. Once shutdown begins,
 * plugins only stop, each within the remaining time.
 */
export async function runPhase(
  unit: PluginUnit,
  phase: PluginPhase,
  { clock, instrument, shutdown }: PhaseOptions,
  before?: () => Promise<void>,
): Promise<void> {
  if (phase !== 'stop' && shutdown.begun) throw hostErrors.ZIN_BOOT_STOPPED()
  const begun = clock.monotonic()
  const own = unit.plugin.spec.deadlines?.[phase] ?? phaseDeadlines[phase]
  const ms = phase === 'stop' ? Math.min(own, shutdown.leftMs) : own
  try {
    if (before !== undefined) {
      unit.waitingFor = 'beforePluginStart'
      // Its listeners have deadlines of their own, and a migration needs a long one.
      await orAborted(instrument(unit.name, before), shutdown.boot)
    }
    const work = instrument(unit.name, () => unit.run(phase))
    await withDeadline(phase === 'stop' ? work : orAborted(work, shutdown.boot), ms, '')
  } catch (error) {
    if (!(error instanceof DeadlineError) || error.message !== '') throw error
    throw new DeadlineError(
      `${unit.name}: ${phase} did not end within ${Math.round(ms)} ms; it is waiting for its ${unit.waitingFor || phase}`,
    )
  } finally {
    unit.timings[phase] = Math.round((clock.monotonic() - begun) * 10) / 10
  }
}

/** Settles as `work` does, or rejects with the signal's reason once it is aborted. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    const done = (): void => signal.removeEventListener('abort', onAbort)
    work.finally(done).then(resolve, reject)
  })
}

/** Logs which plugins are still pending after 1 s, then after 2 s more, 4 s more, …. Returns the function that stops it. */
export function announceSlow(phase: PluginPhase, busy: () => readonly string[], log: Logger): () => void {
  let wait = 1_000
  let timer: NodeJS.Timeout
  const arm = (): void => {
    timer = setTimeout(() => {
      const names = busy()
      if (names.length > 0) log.info({ phase, plugins: names }, `still in ${phase}: ${names.join(', ')}`)
      wait *= 2
      arm()
    }, wait)
    timer.unref()
  }
  arm()
  return () => clearTimeout(timer)
}
