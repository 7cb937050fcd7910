import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import { DeadlineError, withDeadline } from '../util/deadline.js'
import { hostErrors } from './errors.js'
import type { ShutdownTime } from './shutdown-time.js'
import type { PluginPhase } from './states.js'
import type { PluginUnit } from './unit.js'

/** Default deadlines of the phases of a plugin, in ms. */
export const phaseDeadlines: Readonly<Record<PluginPhase, number>> = { setup: 10_000, start: 30_000, ready: 30_000, stop: 10_000 }

/** A phase did not finish within its deadline. A class of its own, because the code of a plugin can throw a DeadlineError, too. */
export class PhaseDeadlineError extends DeadlineError {}

/** Wraps calls of plugin code; a test host uses it to trace resources. */
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
  const late = (): Error =>
    new PhaseDeadlineError(
      `${unit.name}: ${phase} did not finish within ${Math.round(ms)} ms; it is still waiting for ${unit.waitingFor || phase}`,
    )
  try {
    if (before !== undefined) {
      unit.waitingFor = 'beforePluginStart'
      // Not part of the deadline: its listeners have their own, and a migration needs a long one.
      await orAborted(instrument(unit.name, before), shutdown.boot)
    }
    const work = instrument(unit.name, () => unit.run(phase))
    await withDeadline(phase === 'stop' ? work : orAborted(work, shutdown.boot), ms, late)
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

/** Logs which plugins are still pending after 1 s, then after another 2 s, 4 s, …. Returns a function that stops it. */
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
