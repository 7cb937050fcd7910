import type { Cluster, Redis } from 'ioredis'
import type { RedisClient } from './client.js'

/** The servers of a client. */
const serversOf = (client: RedisClient, role: 'all' | 'master'): readonly Redis[] =>
  client.isCluster ? (client as Cluster).nodes(role) : [client as Redis]

/** How many connections to the server, or to all of a cluster, have one of these names; undefined if the user may not list them. */
async function countConnections(client: RedisClient, names: readonly string[]): Promise<number | undefined> {
  let count = 0
  try {
    for (const server of serversOf(client, 'all')) {
      const lines = String(await server.client('LIST')).split('\n')
      count += lines.filter((line) => names.includes(/ name=(\S*)/.exec(line)?.[1] ?? '')).length
    }
    return count
  } catch {
    return undefined
  }
}

/** The name of a connection in CLIENT LIST: commands have other ones than processes that run the app. */
export function connectionName(name: string, runs: boolean): string {
  return runs ? name : `${name}:command`
}

/** How many connections with these names are open, for `DataPart.users`. */
export async function appConnections(client: RedisClient, names: readonly string[]): Promise<string | undefined> {
  const count = (await countConnections(client, names)) ?? 0
  return count === 0 ? undefined : `${count} of its connections to Redis ${count === 1 ? 'is' : 'are'} open`
}

/** All keys that match a pattern of SCAN, in pages; on a cluster, of all nodes. The keys include the prefix of the client. */
export async function* scanKeys(client: RedisClient, pattern: string): AsyncGenerator<readonly string[], void, undefined> {
  for (const server of serversOf(client, 'master')) {
    for (let cursor = '0'; ; ) {
      const [next, keys] = await server.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000)
      // SCAN may repeat a key, also on a later page: of a store that nothing uses, it does not.
      if (keys.length > 0) yield [...new Set(keys)]
      if (next === '0') break
      cursor = next
    }
  }
}

/** A text as SCAN matches it. */
export function scanPattern(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, '\\$&')
}
