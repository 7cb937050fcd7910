import { type Denial, deny } from 'zin'
import type { WorkerChange } from 'zin/plugins/workers'
import { isLive } from './machine.js'
import type { CanaryRecord } from './record.js'

/** Refuses changes to a worker that would interfere with its active canary. */
export async function guardChanges(change: WorkerChange, read: () => Promise<CanaryRecord | undefined>): Promise<Denial | undefined> {
  const { action, actor } = change
  if (actor.kind === 'plugin' && actor.id === 'canary') return undefined
  const what = forbidden(change)
  if (what === undefined) return undefined
  const record = await read()
  if (record === undefined || !isLive(record)) return undefined
  const { inFlight, shield } = record.spec
  // Without job middlewares, these two have no effect; the rest of a canary needs none.
  if (what === plugins && !shield && inFlight !== 'abort') return undefined
  return deny(
    `its canary of version ${record.canary} is ${record.state}, so ${what} now; complete the canary or roll it back first (${action})`,
  )
}

const plugins = 'the feature plugins, which "shield" and "inFlight": "abort" need, cannot be turned off'

function forbidden(change: WorkerChange): string | undefined {
  if (change.action === 'version.activate') return 'no version can be activated'
  if (change.action === 'version.candidates') return 'its candidates cannot be changed'
  if (change.action !== 'update') return undefined
  const [before, after] = [change.before?.record.features, change.after?.record.features]
  const isTurnedOff = (feature: string): boolean => before?.[feature] !== false && after?.[feature] === false
  if (isTurnedOff('canary') || isTurnedOff('versioning')) return 'the features canary and versioning cannot be turned off'
  return isTurnedOff('plugins') ? plugins : undefined
}
