import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import { DeadlineError, withDeadline } from '../util/deadline.js'
import type { Phase, PluginUnit } from './unit.js'

/** Longest time of a phase of one plugin, in ms, unless the plugin says otherwise. */
export const phaseDeadlines: Readonly<Record<Phase, number>> = { setup: 10_000, start: 30_000, ready: 30_000, stop: 10_000 }

/** Runs plugin code so that callers can follow what it leaves behind; a test host traces resources with it. */
export type Instrument = <T>(plugin: string, run: () => T) => T

export interface PhaseOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly instrument: Instrument
}

/** Runs one phase of one plugin in time; the error names the plugin, the phase and what it waited for. */
export async function runPhase(
  unit: PluginUnit,
  phase: Phase,
  { clock, instrument }: PhaseOptions,
  before?: () => Promise<void>,
): Promise<void> {
  const begun = clock.monotonic()
  const ms = unit.plugin.spec.deadlines?.[phase] ?? phaseDeadlines[phase]
  const work = instrument(unit.name, async () => {
    unit.waitingFor = 'beforePluginStart'
    await before?.()
    await unit.run(phase)
  })
  try {
    await withDeadline(work, ms, '')
  } catch (error) {
    if (!(error instanceof DeadlineError) || error.message !== '') throw error
    throw new DeadlineError(`${unit.name}: ${phase} did not end within ${ms} ms; it waits for its ${unit.waitingFor || phase}`)
  } finally {
    unit.timings[phase] = Math.round((clock.monotonic() - begun) * 10) / 10
  }
}

/** Says who is still busy after 1 s of quiet, then after 2 s more, 4 s more, …. Returns the function that ends it. */
export function announceSlow(phase: Phase, busy: () => readonly string[], log: Logger): () => void {
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
