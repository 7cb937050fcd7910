import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import { messageOf } from 'zin'
import { queueErrors } from '../errors.js'
import { lockData } from './data-lock.js'
import { maintain } from './maintenance.js'
import { PglitePool } from './pool.js'
import { PgliteSession } from './session.js'

/** The PostgreSQL that the pinned PGlite is. Another major version cannot read the files. */
const postgresMajor = '18'

const settings: Readonly<Record<string, string>> = {
  search_path: 'bullmq',
  // 128 MB by default, for a queue that is small.
  shared_buffers: '16MB',
  min_wal_size: '5MB',
  // A VACUUM of an empty table would make the planner read whole tables from then on.
  enable_seqscan: 'off',
}

export interface EmbeddedOptions {
  readonly dataDir: string
  readonly fsync: boolean
}

export interface EmbeddedStore {
  readonly pool: PglitePool
  maintain(): Promise<void>
  close(): Promise<void>
}

/** Locks the data directory and opens the queue in `<dataDir>/queue`, made when absent. */
export async function openEmbedded({ dataDir, fsync }: EmbeddedOptions): Promise<EmbeddedStore> {
  const lock = await lockData(dataDir)
  const dir = join(dataDir, 'queue')
  let db: PGlite | undefined
  try {
    await checkVersion(dir)
    await mkdir(dir, { recursive: true })
    const [made, { runMigrations }] = await Promise.all([
      openPglite(dir, fsync).catch((error: unknown) => {
        throw queueErrors.QUEUE_DATA_UNREADABLE(dir, messageOf(error))
      }),
      import('bullmq'),
    ])
    db = made
    const session = new PgliteSession(made)
    const pool = new PglitePool(session)
    const migrating = await pool.connect()
    await runMigrations(migrating as unknown as Parameters<typeof runMigrations>[0])
    migrating.release()
    // The directory is ours alone: whoever held these jobs is gone, and they need not wait for the lock to run out.
    await pool.query("update job set locked_until_ms = 0 where state = 'active'")
    return {
      pool,
      maintain: () => maintain(session),
      async close() {
        try {
          await maintain(session)
        } finally {
          await session.close().finally(() => lock.release())
        }
      },
    }
  } catch (error) {
    await db?.close().catch(() => undefined)
    await lock.release()
    throw error
  }
}

async function openPglite(dir: string, fsync: boolean): Promise<PGlite> {
  const { PGlite } = await import('@electric-sql/pglite')
  const tuned = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const initDbStartParams = ['--wal-segsize=1']
  if (!fsync) return PGlite.create(dir, { startParams: [...PGlite.defaultStartParams, ...tuned], initDbStartParams })
  const { fsyncNodeFs } = await import('./fsync-fs.js')
  // `-F` is "no fsync"; fdatasync, the default of the log, does nothing in this build.
  const startParams = [...PGlite.defaultStartParams.filter((param) => param !== '-F'), '-c', 'wal_sync_method=fsync', ...tuned]
  return PGlite.create({ fs: await fsyncNodeFs(dir), startParams, initDbStartParams })
}

async function checkVersion(dir: string): Promise<void> {
  const found = (await readFile(join(dir, 'PG_VERSION'), 'utf8').catch(() => postgresMajor)).trim()
  if (found !== postgresMajor) throw queueErrors.QUEUE_DATA_VERSION(dir, found, postgresMajor)
}
