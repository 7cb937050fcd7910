import type { Migration } from 'zin'
import type { PersistenceDriver, VersionRecord, WorkerRecord } from '../record/record.js'

/** What a worker should do, and who said so. */
export interface Desired {
  readonly state: 'running' | 'stopped'
  /** `rule`: the auto-start rule. `operator`: start, stop or restart, which a reboot respects. */
  readonly by: 'rule' | 'operator'
  /** Takes no jobs, and keeps everything else. */
  readonly paused: boolean
  /** Grows with every start: a process in which the worker FAILED tries again. */
  readonly starts: number
  /** Grows with every restart: every process stops it and starts it anew. */
  readonly restarts: number
  /** The version that should run. */
  readonly version: string
  /** What runs in a process that cannot run `version`, and until its turn comes; null: nothing. */
  readonly previousVersion: string | null
  /** Versions loaded beside `version`: they run the jobs that a route gives them. Absent: none. */
  readonly candidates?: readonly string[]
  /** Whether health checks run; null: as `features.healthMonitoring` says. */
  readonly monitored: boolean | null
}

/** A rollout that ended at a process which could not run the version. It stays so until a version is activated. */
export interface HaltedRollout {
  /** The activation that was refused: see {@link activationOf}. */
  readonly activation: string
  readonly node: string
  readonly code: string
  readonly message: string
  /** ms since 1970. */
  readonly at: number
}

/** A worker with its versions and its desired state. Every change of it adds one to `generation`. */
export interface StoredWorker {
  /** One per creation: a removed and created again worker is another one. */
  readonly id: string
  readonly record: WorkerRecord
  /** In the order of their registration; the one that `desired.version` names is among them. */
  readonly versions: readonly VersionRecord[]
  readonly desired: Desired
  /** While it is there, processes that do not run `desired.version` keep or take `desired.previousVersion`. */
  readonly halted?: HaltedRollout
  /** Queues that it was given before, the last one first: a schedule may still be there when it could not be moved. */
  readonly leftQueues?: readonly string[]
  /** From 1. */
  readonly generation: number
  /** ms since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** Part of the workers by name. */
export interface PageQuery {
  readonly offset: number
  readonly limit: number
  /** Also those whose `activeStatus` is false. */
  readonly inactive: boolean
  /** Only these names; all others are left out. */
  readonly only?: ReadonlySet<string>
  /** Not these names. */
  readonly without?: ReadonlySet<string>
}

export interface StorePage {
  readonly workers: readonly StoredWorker[]
  /** How many the query lets through over all pages. */
  readonly total: number
}

/** The place behind a driver, as a record may name it. */
export type StorePlace = Readonly<Partial<Record<'connection' | 'table' | 'keyPrefix', string>>>

/** Where workers are kept. One contract test runs on every driver. */
export interface WorkerStore {
  readonly driver: PersistenceDriver
  readonly place: StorePlace
  /** Whether other processes see the same workers. */
  readonly shared: boolean
  /** What makes the store's table, when it is run with the app's other migrations. */
  readonly migrations?: readonly Migration[]
  /** Makes what the store needs when migrations do not: an index, a table elsewhere. Called once before use; safe to repeat. */
  prepare(): Promise<void>
  /** False when the name is taken. */
  insert(worker: StoredWorker): Promise<boolean>
  get(name: string): Promise<StoredWorker | undefined>
  /** By name, in one round trip. A page behind the last one is empty. */
  page(query: PageQuery): Promise<StorePage>
  /** By name. */
  all(): Promise<readonly StoredWorker[]>
  /** Writes when the stored one has the same id and the generation before this one; else false. Atomic. */
  replace(worker: StoredWorker): Promise<boolean>
  /** False when there was none of that id. */
  remove(worker: StoredWorker): Promise<boolean>
}

/** Names the last activation of a worker: another one for each, also of the same version. */
export function activationOf({ desired, versions }: Pick<StoredWorker, 'desired' | 'versions'>): string {
  const active = versions.find(({ version }) => version === desired.version)
  return `${desired.version} ${active?.activatedAt ?? ''}`
}

export function byName(a: StoredWorker, b: StoredWorker): number {
  return a.record.name < b.record.name ? -1 : a.record.name > b.record.name ? 1 : 0
}
