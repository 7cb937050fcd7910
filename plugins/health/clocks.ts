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

/** Stores the offsets of this node for the others. */
export async function publishOffsets({ cluster, kv }: ClockStores, offsets: Offsets): Promise<void> {
  if (cluster !== undefined) await kv?.set(keyOf(cluster.node.id), JSON.stringify([...offsets]), { ttlMs: keptMs })
}

/** The offsets that the other nodes have stored; those in another form are left out. */
export async function otherOffsets({ cluster, kv }: ClockStores): Promise<readonly Offsets[]> {
  if (cluster === undefined || kv === undefined) return []
  const others = cluster.nodes().filter(({ alive, id }) => alive && id !== cluster.node.id)
  if (others.length === 0) return []
  const found = await kv.getMany(others.slice(0, mostNodes).map(({ id }) => keyOf(id)))
  return found.flatMap((text) => (text === null ? [] : [offsetsIn(text)]))
}

function offsetsIn(text: string): Offsets {
  try {
    const pairs: unknown = JSON.parse(text)
    const isPair = (pair: unknown): pair is [string, number] =>
      Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'number'
    return new Map(Array.isArray(pairs) ? pairs.filter(isPair) : [])
  } catch {
    return new Map()
  }
}
