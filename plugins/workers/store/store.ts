import type { PersistenceDriver, WorkerRecord } from '../record/record.js'

/** What a worker should do, and who said so. */
export interface Desired {
  readonly state: 'running' | 'stopped'
  /** `rule`: the auto-start rule. `operator`: start, stop or restart, which a reboot respects. */
  readonly by: 'rule' | 'operator'
  /** Grows with every restart. */
  readonly restarts: number
}

/** A worker with its desired state. Every change of it adds one to `generation`. */
export interface StoredWorker {
  /** One per creation: a removed and created again worker is another one. */
  readonly id: string
  readonly record: WorkerRecord
  readonly desired: Desired
  /** From 1. */
  readonly generation: number
  /** ms since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** Where workers are kept. One contract test runs on every driver. */
export interface WorkerStore {
  readonly driver: PersistenceDriver
  /** The place behind the driver, as a record may name it. */
  readonly place: Readonly<Partial<Record<'connection' | 'table' | 'keyPrefix', string>>>
  /** Whether other processes see the same workers. */
  readonly shared: boolean
  /** False when the name is taken. */
  insert(worker: StoredWorker): Promise<boolean>
  get(name: string): Promise<StoredWorker | undefined>
  /** By name. */
  all(): Promise<readonly StoredWorker[]>
  /** Writes when the stored one has the same id and the generation before this one; else false. Atomic. */
  replace(worker: StoredWorker): Promise<boolean>
  /** False when there was none of that id. */
  remove(worker: StoredWorker): Promise<boolean>
}

export function byName(a: StoredWorker, b: StoredWorker): number {
  return a.record.name < b.record.name ? -1 : a.record.name > b.record.name ? 1 : 0
}
