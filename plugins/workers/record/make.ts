import { isUrl } from './processor-url.js'
import type {
  CreateWorker,
  Infrastructure,
  PersistenceDriver,
  PersistencePlace,
  RegisterVersion,
  UpdateWorker,
  VersionRecord,
  WorkerRecord,
} from './record.js'
import { firstVersion } from './version.js'

export interface RecordDefaults {
  /** WORKER_CONCURRENCY. */
  readonly concurrency: number
  /** WORKER_PERSISTENCE_DRIVER. */
  readonly driver: PersistenceDriver
}

/** Returns the record of a valid input, with every default filled in. It is plain JSON, without functions and clients. */
export function recordOf(input: CreateWorker, defaults: RecordDefaults): WorkerRecord {
  const remote = typeof input.processor === 'string' && isUrl(input.processor)
  return {
    name: input.name,
    queueName: input.queueName,
    concurrency: input.concurrency ?? defaults.concurrency,
    activeStatus: input.activeStatus ?? true,
    autoStart: input.autoStart ?? null,
    features: { ...input.features },
    infrastructure: infrastructureOf(input.infrastructure, defaults),
    rateLimit: input.rateLimit ?? null,
    jobOptions: { ...input.jobOptions },
    isolation: input.isolation ?? (remote ? 'process' : 'inline'),
    placement: placementOf(input.placement),
  }
}

function infrastructureOf(input: CreateWorker['infrastructure'], defaults: RecordDefaults): Infrastructure {
  const { driver, connection, table, keyPrefix, client } = input?.persistence ?? {}
  const persistence: PersistencePlace = {
    driver: driver ?? defaults.driver,
    // A client takes precedence over the name of a connection, so storing that name would show a wrong location.
    ...(connection === undefined || client !== undefined ? {} : { connection }),
    ...(table === undefined ? {} : { table }),
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
  }
  return {
    ...(input?.driver === undefined ? {} : { driver: input.driver }),
    ...(input?.redis === undefined ? {} : { redis: input.redis }),
    persistence,
  }
}

function placementOf({ nodes = 'all', regions }: NonNullable<CreateWorker['placement']> = {}): WorkerRecord['placement'] {
  return { nodes, ...(regions === undefined ? {} : { regions: [...regions] }) }
}

/** The first version of a new worker, which is the active one. `now` is in ms since 1970. */
export function firstVersionOf(input: CreateWorker, now: number): VersionRecord {
  return { ...versionOf({ ...input, version: input.version ?? firstVersion }, now), activatedAt: now }
}

export function versionOf({ version, description = '', processor, healthCheck }: RegisterVersion, now: number): VersionRecord {
  return { version, description, processor: textOf(processor), healthCheck: textOf(healthCheck), createdAt: now, activatedAt: null }
}

/** Null for a function: it is registered in code, under the name of the worker. */
function textOf(code: unknown): string | null {
  return typeof code === 'string' ? code : null
}

/** Returns the record after a valid update. Object fields are replaced as a whole; the parts of plugins stay unchanged. */
export function updatedRecord(record: WorkerRecord, changes: UpdateWorker): WorkerRecord {
  const { queueName, concurrency, activeStatus, autoStart, features, rateLimit, jobOptions, isolation, placement } = changes
  return {
    ...record,
    queueName: queueName ?? record.queueName,
    concurrency: concurrency ?? record.concurrency,
    activeStatus: activeStatus ?? record.activeStatus,
    autoStart: autoStart === undefined ? record.autoStart : autoStart,
    features: features === undefined ? record.features : { ...features },
    rateLimit: rateLimit === undefined ? record.rateLimit : rateLimit,
    jobOptions: jobOptions === undefined ? record.jobOptions : { ...jobOptions },
    isolation: isolation ?? record.isolation,
    placement: placement === undefined ? record.placement : placementOf(placement),
  }
}
