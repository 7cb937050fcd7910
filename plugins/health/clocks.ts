import type { Cluster } from 'zin/plugins/cluster'
import { type Database, sqlTools } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import type { ClockSource, Offsets } from './clock-watch.js'

export interface ClockStores {
  readonly database: Database | undefined
  readonly kv: Kv | undefined
  readonly cluster: Cluster | undefined
}

const mostNodes = 100
const keptMs = 180_000
const keyOf = (node: string): string => `health:clock:${node}`

/** The clocks of the stores on other machines. SQLite and the embedded store use the clock of this one. */
export function clockSources({ database, kv }: ClockStores): readonly ClockSource[] {
  const redis = kv?.redis
  return [
    ...(redis === undefined
      ? []
      : [
          { name: 'Redis', read: async () => redis.time().then(([seconds = 0, micros = 0]) => seconds * 1000 + Math.floor(micros / 1000)) },
        ]),
    ...(database?.dialect === 'mysql' ? [{ name: 'the database', read: () => databaseTime(database) }] : []),
  ]
}

async function databaseTime(database: Database): Promise<number> {
  const tables = database.tables()
  const { now } = await sqlTools(tables)
  const { at } = await tables.selectNoFrom(now.as('at')).executeTakeFirstOrThrow()
  return Number(at)
}

/** Stores the offsets of this node for the others, and returns theirs. */
export async function exchangeOffsets({ cluster, kv }: ClockStores, offsets: Offsets): Promise<readonly Offsets[]> {
  if (cluster === undefined || kv === undefined) return []
  const own = cluster.node.id
  await kv.set(keyOf(own), JSON.stringify([...offsets]), { ttlMs: keptMs })
  const others = cluster.nodes().filter(({ alive, id }) => alive && id !== own)
  if (others.length === 0) return []
  const found = await kv.getMany(others.slice(0, mostNodes).map(({ id }) => keyOf(id)))
  return found.flatMap((text) => (text === null ? [] : [new Map(JSON.parse(text) as readonly [string, number][])]))
}
