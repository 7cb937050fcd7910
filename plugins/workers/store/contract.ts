import type { Migration } from 'zin'
import type { PersistenceDriver, VersionRecord, WorkerRecord } from '../record/record.js'

/** The desired state of a worker. */
export interface Desired {
  readonly state: 'running' | 'stopped'
  /** Who set `state`. `rule`: the auto-start rule. `operator`: a start, stop or restart, which survives a reboot. */
  readonly by: 'rule' | 'operator'
  /** Whether the worker takes no jobs, but otherwise stays as it is. */
  readonly paused: boolean
  /** Increases with every start, so that nodes on which the worker has failed retry. */
  readonly starts: number
  /** Increases with every restart, so that every node stops and starts the worker. */
  readonly restarts: number
  /** Whether no node could apply the last start or restart, so that the next one that can does, whatever the auto-start rule says. */
  readonly awaitsNode?: true
  /** Who stopped it, and when, in ms since 1970. Absent if nobody has. */
  readonly stopped?: { readonly by: string; readonly at: number }
  /** Whether `version` was activated while the worker was stopped, and no node has run it since: its health check must pass first. */
  readonly untried?: true
  /** The version that should run. */
  readonly version: string
  /** The version that a node runs if it cannot run `version`, or until its turn in a rollout; null if there is none. */
  readonly previousVersion: string | null
  /** Versions loaded besides `version`, for the jobs that a version route sends to them. Default none. */
  readonly candidates?: readonly string[]
  /** Whether health checks run; null: `features.healthMonitoring` decides. */
  readonly monitored: boolean | null
}

/** A rollout that was halted because a node could not run the version. It stays halted until a version is activated. */
export interface HaltedRollout {
  /** The activation that was refused: see {@link activationOf}. */
  readonly activation: string
  readonly node: string
  readonly code: string
  readonly message: string
  /** ms since 1970. */
  readonly at: number
}

/** A worker with its versions and its desired state. Every change increments `generation`. */
export interface StoredWorker {
  /** Unique per creation: a worker that is removed and created again has another id. */
  readonly id: string
  readonly record: WorkerRecord
  /** In the order of registration; includes `desired.version`. */
  readonly versions: readonly VersionRecord[]
  readonly desired: Desired
  /** While set, nodes that do not run `desired.version` run `desired.previousVersion`. */
  readonly halted?: HaltedRollout
  /** Previous queues of the worker, most recent first. A schedule that could not be moved may remain there. */
  readonly leftQueues?: readonly string[]
  /** The plugin whose code declares it. */
  readonly declaredBy?: string
  /** From 1. */
  readonly generation: number
  /** ms since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
}

/** A page of the workers, sorted by name. */
export interface PageQuery {
  readonly offset: number
  readonly limit: number
  /** Whether to include workers whose `activeStatus` is false. */
  readonly inactive: boolean
  /** Include only workers with these names. */
  readonly only?: ReadonlySet<string>
  /** Exclude workers with these names. */
  readonly without?: ReadonlySet<string>
}

export interface StorePage {
  readonly workers: readonly StoredWorker[]
  /** Number of matching workers on all pages. */
  readonly total: number
}

/** The location of a store within its driver, which a record may name. */
export type StorePlace = Readonly<Partial<Record<'connection' | 'table' | 'keyPrefix', string>>>

/** A store of workers. One contract test runs on every driver. */
export interface WorkerStore {
  readonly driver: PersistenceDriver
  readonly place: StorePlace
  /** Whether other processes see the same workers. */
  readonly shared: boolean
  /** Migrations for the table of the store, which run with those of the app. */
  readonly migrations?: readonly Migration[]
  /** Whether the table exists already. Absent: it is not known, or there is none. */
  exists?(): Promise<boolean>
  /** Creates everything that migrations do not, such as a table on another connection. Called once before use; idempotent. */
  prepare(): Promise<void>
  /** Inserts a worker; false if the name is taken. */
  insert(worker: StoredWorker): Promise<boolean>
  get(name: string): Promise<StoredWorker | undefined>
  /** Returns a page sorted by name, in one round trip. A page after the last one is empty. */
  page(query: PageQuery): Promise<StorePage>
  /** Returns all workers, sorted by name. */
  all(): Promise<readonly StoredWorker[]>
  /** Atomically replaces a worker if the stored one has the same id and the previous generation; otherwise returns false. */
  replace(worker: StoredWorker): Promise<boolean>
  /** Removes a worker; false if none with that id is stored. */
  remove(worker: StoredWorker): Promise<boolean>
}

/** Returns the id of the last activation of a worker, which is unique even if the same version is activated again. */
export function activationOf({ desired, versions }: Pick<StoredWorker, 'desired' | 'versions'>): string {
  const active = versions.find(({ version }) => version === desired.version)
  return `${desired.version} ${active?.activatedAt ?? ''}`
}

export function byName(a: StoredWorker, b: StoredWorker): number {
  return a.record.name < b.record.name ? -1 : a.record.name > b.record.name ? 1 : 0
}
