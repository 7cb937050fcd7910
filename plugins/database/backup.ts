import { chmod, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { BackupPart } from 'zin'
import type { ConnectionConfig, SqliteConfig } from './connections/config.js'
import { databaseErrors } from './errors.js'
import type { OwnedDatabase } from './service.js'

export interface BackupParts {
  readonly configs: readonly ConnectionConfig[]
  readonly dataDir: string
  /** A database with this connection alone. */
  readonly make: (config: SqliteConfig) => OwnedDatabase
}

/** The files of SQLite beside the database. */
const suffixes = ['', '-wal', '-shm', '-journal']

/** Copies the SQLite files in the data directory to `folder`, also while other processes write to them. */
export async function backUpTables({ configs, dataDir, make }: BackupParts, folder: string): Promise<BackupPart> {
  const { sql } = await import('kysely')
  const entries: string[] = []
  const elsewhere: string[] = []
  for (const config of configs) {
    if (config.driver !== 'sqlite') {
      elsewhere.push(
        `The tables of the connection "${config.name}" are on a server: use its tools, such as mariadb-dump --single-transaction.`,
      )
      continue
    }
    if (!isInside(config.file, dataDir)) {
      elsewhere.push(`The database file ${config.file} is outside of the data directory: copy it with VACUUM INTO.`)
      continue
    }
    const name = basename(config.file)
    entries.push(...suffixes.map((suffix) => `${name}${suffix}`))
    const found = await stat(config.file).catch(() => undefined)
    if (found === undefined) continue
    const copy = join(folder, name)
    await withDatabase(make(config), (database) => sql`vacuum into ${copy}`.execute(database.tables(config.name)))
    await chmod(copy, found.mode & 0o777)
  }
  return { entries, ...(elsewhere.length > 0 && { elsewhere: elsewhere.join(' ') }) }
}

/** Opens the SQLite files in a backup and checks them. Throws DATABASE_DAMAGED. */
export async function checkTables({ configs, dataDir, make }: BackupParts, folder: string): Promise<string> {
  const { sql } = await import('kysely')
  const checked: string[] = []
  for (const config of configs) {
    if (config.driver !== 'sqlite' || !isInside(config.file, dataDir)) continue
    const file = join(folder, basename(config.file))
    if (!(await stat(file).catch(() => undefined))) continue
    const { rows } = await withDatabase(make({ ...config, file }), (database) =>
      sql<{ readonly integrity_check: string }>`pragma integrity_check(1)`.execute(database.tables(config.name)),
    )
    const [found] = rows
    if (found?.integrity_check !== 'ok') throw databaseErrors.DATABASE_DAMAGED(file, found?.integrity_check ?? 'no answer')
    checked.push(basename(file))
  }
  return checked.length === 0 ? 'no tables' : checked.join(', ')
}

function isInside(file: string, dataDir: string): boolean {
  return dirname(resolve(file)) === resolve(dataDir)
}

async function withDatabase<T>(database: OwnedDatabase, work: (database: OwnedDatabase) => Promise<T>): Promise<T> {
  try {
    await database.connect()
    return await work(database)
  } finally {
    await database.close()
  }
}
