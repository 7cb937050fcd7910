import { messageOf } from '../errors.js'
import { DeadlineError, withDeadline } from '../util/deadline.js'
import { PhaseDeadlineError, type PhaseOptions, runPhase } from './phases.js'
import type { PluginUnit } from './unit.js'

/** The outcome of stopping one plugin. */
export interface StopRow {
  readonly plugin: string
  readonly outcome: 'ok' | 'slow' | 'failed' | 'hung'
  readonly ms: number
  readonly error?: string
}

/** The outcome of a shutdown. */
export interface ShutdownReport {
  /** True if no plugin failed or hung and no connection was cut. */
  readonly clean: boolean
  readonly plugins: readonly StopRow[]
  /** Number of connections cut because their requests did not finish in time. */
  readonly forcedConnections: number
  /** What went wrong, one line each. */
  readonly lines: readonly string[]
  /** What took long but ended well, such as workers that finished their jobs. */
  readonly notes: readonly string[]
}

/** A stop that takes longer than this is reported as slow, in ms. It is not an error: a drain takes as long as the work in progress. */
const slowMs = 2_000

/**
 * Stops one plugin and undoes its registrations. A failure is returned in the row, never thrown. Does nothing for a plugin that is not
 * set up, and joins a pending stop.
 */
export function stopUnit(unit: PluginUnit, options: PhaseOptions): Promise<StopRow> {
  if (unit.state === 'registered' || unit.state === 'failed') return Promise.resolve({ plugin: unit.name, outcome: 'ok', ms: 0 })
  unit.stopping ??= stopOnce(unit, options).finally(() => {
    unit.stopping = undefined
  })
  return unit.stopping
}

async function stopOnce(unit: PluginUnit, options: PhaseOptions): Promise<StopRow> {
  if (unit.state !== 'disabling') unit.to('disabling')
  const failures: Error[] = []
  let hung = false
  if (unit.started) {
    try {
      await runPhase(unit, 'stop', options)
    } catch (error) {
      hung = error instanceof PhaseDeadlineError
      failures.push(error as Error)
    }
  }
  failures.push(...unit.unwind())
  unit.to('registered')
  const ms = unit.timings.stop ?? 0
  const outcome: StopRow['outcome'] = hung ? 'hung' : failures.length > 0 ? 'failed' : ms > slowMs ? 'slow' : 'ok'
  const row = { plugin: unit.name, outcome, ms }
  return failures.length === 0 ? row : { ...row, error: failures.map(messageOf).join('; ') }
}

/**
 * Stops plugins level by level, dependents first, within the remaining time of the shutdown. A failure does not skip other plugins. At the
 * deadline, the remaining plugins are told to stop without being awaited.
 */
export async function stopLevels(levels: readonly (readonly PluginUnit[])[], options: PhaseOptions): Promise<StopRow[]> {
  const rows: StopRow[] = []
  for (const level of [...levels].reverse()) {
    rows.push(...(await Promise.all(level.map((unit) => (unit.stopping ? inTime(unit, unit.stopping, options) : stopUnit(unit, options))))))
  }
  return rows
}

/** Deadline of all `onStopped` steps of one plugin, in ms. */
const lastMs = 10_000

/** Runs the `onStopped` steps of plugins that have stopped, and adds failures to their rows. */
export async function endUnits(
  units: readonly PluginUnit[],
  rows: readonly StopRow[],
  { clock, shutdown }: PhaseOptions,
): Promise<readonly StopRow[]> {
  const ended = new Map<string, Pick<StopRow, 'outcome' | 'ms' | 'error'>>()
  const end = async (unit: PluginUnit): Promise<void> => {
    const began = clock.monotonic()
    const limitMs = Math.min(lastMs, shutdown.leftMs)
    const late = new DeadlineError(`${unit.name}: its onStopped steps did not finish within ${Math.round(limitMs)} ms`)
    try {
      await withDeadline(unit.runLast(), limitMs, () => late)
    } catch (error) {
      // A step can throw a DeadlineError of its own.
      const outcome = error === late ? 'hung' : 'failed'
      ended.set(unit.name, { outcome, ms: clock.monotonic() - began, error: messageOf(error) })
    }
  }
  await Promise.all(units.filter((unit) => unit.hasLast).map(end))
  return rows.map((row) => (row.outcome === 'ok' || row.outcome === 'slow' ? { ...row, ...ended.get(row.plugin) } : row))
}

/** Awaits a stop that began before the shutdown, within the remaining time of the shutdown. */
async function inTime(unit: PluginUnit, stopping: Promise<StopRow>, { clock, shutdown }: PhaseOptions): Promise<StopRow> {
  const began = clock.monotonic()
  try {
    return await withDeadline(stopping, shutdown.leftMs, `${unit.name}: its stop, which began before the shutdown, did not finish in time`)
  } catch (error) {
    return { plugin: unit.name, outcome: 'hung', ms: clock.monotonic() - began, error: messageOf(error) }
  }
}

export function shutdownReport(plugins: readonly StopRow[], forcedConnections: number): ShutdownReport {
  const notes = plugins.filter(({ outcome }) => outcome === 'slow').map(({ ms, plugin }) => `${plugin}: stopped after ${Math.round(ms)} ms`)
  const bad = plugins.filter(({ outcome }) => outcome === 'failed' || outcome === 'hung')
  const lines = bad.map(
    ({ error, ms, outcome, plugin }) => `${plugin}: ${outcome} after ${Math.round(ms)} ms${error === undefined ? '' : `: ${error}`}`,
  )
  if (forcedConnections > 0) lines.push(`http: cut ${forcedConnections} connection(s) whose requests did not finish in time`)
  return { clean: lines.length === 0, plugins, forcedConnections, lines, notes }
}
