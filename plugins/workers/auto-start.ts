import type { PersistenceDriver, WorkerRecord } from './record/record.js'
import type { Desired } from './store/contract.js'

export interface AutoStartSettings {
  /** `WORKER_AUTO_START`. */
  readonly global: boolean
  /** `WORKER_PERSISTENCE_DRIVER`. */
  readonly driver: PersistenceDriver
}

export interface AutoStartDecision {
  readonly start: boolean
  /** Why, for the log. */
  readonly reason: string
  /** The setting that would let it start. */
  readonly setting?: string
}

/**
 * Decides whether a worker starts automatically: at creation, and at boot, where `stored` is its stored desired state.
 * A worker that an operator stopped stays stopped.
 */
export function autoStart(settings: AutoStartSettings, record: WorkerRecord, stored?: Desired): AutoStartDecision {
  const no = (reason: string, setting?: string): AutoStartDecision => ({ start: false, reason, ...(setting !== undefined && { setting }) })
  const { driver } = record.infrastructure.persistence
  if (!settings.global) return no('WORKER_AUTO_START is not true', 'WORKER_AUTO_START=true')
  if (!record.activeStatus) return no('its activeStatus is false')
  if (record.autoStart === false) return no('its autoStart is false')
  if (driver !== settings.driver) {
    return no(`it is stored by ${driver} and WORKER_PERSISTENCE_DRIVER is ${settings.driver}`, `WORKER_PERSISTENCE_DRIVER=${driver}`)
  }
  if (stored?.state === 'stopped' && stored.by === 'operator') return no('an operator stopped it')
  return { start: true, reason: 'WORKER_AUTO_START is true and its record allows it' }
}
