import type { Db } from 'mongodb'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import type { EdgeSqlBinding } from './edge-sql.js'

// Clients are passed in code, so they are recognized by their methods.

export function isDatabase(client: unknown): client is Database {
  return has(client, ['tables', 'insertIfAbsent', 'dialectOf'])
}

export function isKv(client: unknown): client is Kv {
  return has(client, ['getMany', 'increment'])
}

export function isMongoDb(client: unknown): client is Db {
  return has(client, ['collection', 'aggregate'])
}

export function isEdgeSqlBinding(client: unknown): client is EdgeSqlBinding {
  return has(client, ['prepare', 'batch'])
}

function has(client: unknown, methods: readonly string[]): boolean {
  if ((typeof client !== 'object' && typeof client !== 'function') || client === null) return false
  return methods.every((method) => typeof (client as Record<string, unknown>)[method] === 'function')
}
