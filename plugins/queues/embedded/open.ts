import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Logger, messageOf } from 'zin'
import { loadBullmq } from '../bullmq.js'
import { queueErrors } from '../errors.js'
import { readyKey } from '../ready.js'
import { copyFolder } from './copy-folder.js'
import { lockData } from './data-lock.js'
import { Disk } from './disk.js'
import { type Engine, loadEngine, type Postgres, startEngine } from './engine.js'
import { maintain, scrub } from './maintenance.js'
import { isUnclean, removeOrphans } from './orphans.js'
import { postgresMajor } from './parameters.js'
import { PglitePool } from './pool.js'
import { PgliteSession } from './session.js'
import { StoreUnavailableError } from './statement-errors.js'
import { builtTemplate, makeFromTemplate } from './template.js'

export interface EmbeddedOptions {
  readonly dataDir: string
  readonly fsync: boolean
  /** The engine, if it is already loading. */
  readonly engine?: Promise<Engine>
  /** Template file for an empty directory. Default: the one of this package; undefined: no template. */
  readonly template?: string | undefined
  readonly log?: Logger
}

export interface EmbeddedStore {
  readonly pool: PglitePool
  readonly disk: Disk
  /** Another process has taken over the data: every statement is refused. */
  readonly lost: boolean
  maintain(): Promise<void>
  /** Rewrites the files, so that nothing of a removed row remains in them. Takes time in proportion to the data. */
  scrub(): Promise<void>
  /** Copies the files of the queue to a new folder. Statements wait meanwhile. */
  copyTo(folder: string): Promise<void>
  close(): Promise<void>
}

/** Locks the data directory and opens the queue in `<dataDir>/queue`; creates it if absent. */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedStore> {
  try {
    return await open(options)
  } catch (error) {
    const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
    throw isFull ? queueErrors.QUEUE_DISK_FULL(options.dataDir, new Disk(options.dataDir).free) : error
  }
}

async function open(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const { dataDir, fsync, log, engine = loadEngine() } = options
  const template = 'template' in options ? options.template : builtTemplate()
  engine.catch(() => undefined)
  const disk = new Disk(dataDir)
  const lock = await lockData(dataDir, { log, onLost: (error) => log?.error(error.message) })
  const dir = join(dataDir, 'queue')
  let postgres: Postgres | undefined
  try {
    await checkVersion(dir)
    if (template !== undefined) await makeFromTemplate(dir, template, { sync: fsync })
    await mkdir(dir, { recursive: true, mode: 0o700 })
    // Runs while other threads compile the engine.
    loadBullmq()
    const [loaded, unclean] = await Promise.all([engine, isUnclean(dir)])
    postgres = await startEngine(loaded, dir, fsync).catch((error: unknown) => {
      throw disk.lacks() ? queueErrors.QUEUE_DISK_FULL(dataDir, disk.free) : queueErrors.QUEUE_DATA_UNREADABLE(dir, messageOf(error))
    })
    const session = new PgliteSession(postgres, { disk, lock, log, reopen: () => startEngine(loaded, dir, fsync) })
    const pool = new PglitePool(session)
    // PostgreSQL has made a checkpoint after it replayed its log. What cannot be deleted now, scrub() reports.
    if (unclean) await removeOrphans(session, dir).catch((error: unknown) => log?.warn({ reason: messageOf(error) }, orphansLeft(dir)))
    await migrate(pool)
    const whenSpace = (error: unknown): void => {
      if (!(error instanceof StoreUnavailableError)) throw error
    }
    await noteReady(pool).catch(whenSpace)
    await guardDeduplication(pool).catch(whenSpace)
    // This process owns the directory, so the previous holder of these jobs has ended and their locks can be released now. If there is no
    // space, the locks run out by themselves, and jobs can be read.
    await pool.query("update job set locked_until_ms = 0 where state = 'active'").catch(whenSpace)
    return {
      pool,
      disk,
      get lost() {
        return lock.lost !== undefined
      },
      maintain: () => maintain(session),
      scrub: () => scrub(session, dir),
      async copyTo(folder) {
        const release = await session.acquire()
        try {
          await session.confirm()
          // Every commit is in the log, so the copy is what a crash would leave, and opens like that.
          await copyFolder(dir, folder)
        } finally {
          release()
        }
      },
      async close() {
        // Maintenance that fails here fails again, and is logged, when the app next runs.
        await maintain(session).catch(() => undefined)
        await session.close().finally(() => lock.release())
      },
    }
  } catch (error) {
    await postgres?.close().catch(() => undefined)
    await lock.release()
    throw error
  }
}

const orphansLeft = (dir: string): string => `${dir}: files of a PostgreSQL that was killed cannot be deleted; they take space`

/** PostgreSQL creates two databases that only serve to create others: two thirds of the files and half of the bytes of a new store. */
const dropOtherDatabases = ['update pg_database set datistemplate = false', 'drop database template0', 'drop database template1']

/** Checks first: BullMQ's migrations alter and commit even when there is nothing to do. */
async function migrate(pool: PglitePool): Promise<void> {
  const { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, runMigrations, SchemaMigrationRequiredError } = loadBullmq()
  const client = await pool.connect()
  const session = client as unknown as Parameters<typeof runMigrations>[0]
  try {
    const version = await assertSchemaCompatibility(session).catch((error: unknown) => {
      if (error instanceof SchemaMigrationRequiredError) return 0
      throw error
    })
    if (version < LATEST_SCHEMA_VERSION) await runMigrations(session)
    if (version === 0) for (const statement of dropOtherDatabases) await pool.query(statement)
  } finally {
    client.release()
  }
}

/**
 * Stores when a job becomes ready with the job: BullMQ does not. The time of a delayed job is when it was due, that of any other is now.
 */
async function noteReady(pool: PglitePool): Promise<void> {
  const { rows } = await pool.query("select 1 from pg_trigger where tgname = 'zin_job_ready'")
  if (rows.length > 0) return
  await pool.query(`
    create or replace function zin_note_ready() returns trigger language plpgsql as $$
    begin
      new.opts := jsonb_set(new.opts, '{${readyKey}}', to_jsonb(case when old.state = 'delayed' and new.process_at_ms is not null
        then new.process_at_ms else floor(extract(epoch from clock_timestamp()) * 1000)::bigint end));
      return new;
    end $$`)
  await pool.query(`create or replace trigger zin_job_ready before update of state on job
    for each row when (new.state = 'waiting' and old.state <> 'waiting') execute function zin_note_ready()`)
}

/**
 * Lets only the job that is added with a deduplication id hold it. BullMQ gives the id to a job before it finds that one with its `jobId` exists,
 * and that one would never release it. A job that is restored after it has ended had the id before.
 */
async function guardDeduplication(pool: PglitePool): Promise<void> {
  const { rows } = await pool.query("select 1 from pg_trigger where tgname = 'zin_dedup_holder'")
  if (rows.length > 0) return
  await pool.query(`
    create or replace function zin_guard_dedup() returns trigger language plpgsql as $$
    declare j job; given jsonb;
    begin
      select * into j from job where queue = new.queue and id = new.job_id;
      if not found then return new; end if;
      given := j.opts->'deduplication';
      if given->>'id' is distinct from new.dedup_id then return null; end if;
      if j.state not in ('completed', 'failed') or new.expire_at_ms - (given->>'ttl')::bigint <= j.finished_at_ms then return new; end if;
      return null;
    end $$`)
  await pool.query(`create or replace trigger zin_dedup_holder before insert or update of job_id on dedup
    for each row execute function zin_guard_dedup()`)
}

async function checkVersion(dir: string): Promise<void> {
  const found = (await readFile(join(dir, 'PG_VERSION'), 'utf8').catch(() => postgresMajor)).trim()
  if (found !== postgresMajor) throw queueErrors.QUEUE_DATA_VERSION(dir, found, postgresMajor)
}
