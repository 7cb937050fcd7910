import { openRedis, type RedisClient, redisTarget } from 'zin/plugins/redis'
import { memoryLogger } from 'zin/testing'
import { freePort } from './free-port.js'
import { type RedisServer, redisServer } from './redis-server.js'

/** The name and key prefix of a test's client. */
export interface RedisClientOptions {
  readonly name: string
  readonly keyPrefix: string
}

/** The server of TEST_REDIS_URL. */
export const testRedisUrl = process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set'

/** A client that fails fast. */
export function connectRedis(url: string, options: RedisClientOptions): Promise<RedisClient> {
  const setting = 'TEST_REDIS_URL'
  const target = redisTarget(setting, url)
  return openRedis({ target, setting, connectTimeoutMs: 5000, log: memoryLogger(), mode: 'fail-fast', ...options })
}

/** Stores on one server, each with a separate client, as in separate processes. */
export function storesOnRedis<Store>(url: string, options: RedisClientOptions, storeOn: (client: RedisClient) => Store) {
  const clients: RedisClient[] = []
  return {
    clients: clients as readonly RedisClient[],
    async open(): Promise<Store> {
      const client = await connectRedis(url, options)
      clients.push(client)
      return storeOn(client)
    },
    async close(): Promise<void> {
      for (const client of clients) client.disconnect()
    },
  }
}

/** A Redis Cluster of one node that has all slots. `url` is for a cluster client. */
export async function redisClusterServer(options: RedisClientOptions): Promise<RedisServer> {
  // The default port of the bus is 10,000 above the port for clients, which can be too high.
  const bus = await freePort()
  const server = await redisServer('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--cluster-port', `${bus}`)
  const client = await connectRedis(server.url, options)
  await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
  while (!String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) await new Promise((resolve) => setTimeout(resolve, 10))
  client.disconnect()
  return { ...server, url: server.url.replace('redis:', 'redis-cluster:') }
}
