import { eventually } from '../../../scripts/testing/eventually.js'
import { freePort } from '../../../scripts/testing/free-port.js'
import { connectRedis } from '../../../scripts/testing/redis-client.js'
import { type RedisServer, redisServer } from '../../../scripts/testing/redis-server.js'
import { type LostReplies, openRelay, type Relay } from '../../../scripts/testing/relay.js'

/** A Redis behind relays. */
export interface RelayedRedis {
  readonly url: string
  stop(): Promise<void>
}

/** A Redis Cluster of two nodes with half of the slots each; clients reach each node through a relay. */
export async function redisCluster(lost: LostReplies): Promise<RelayedRedis> {
  const servers: RedisServer[] = []
  const relays: Relay[] = []
  const stop = async (): Promise<void> => {
    await Promise.all([...relays.map((relay) => relay.cut()), ...servers.map((server) => server.stop())])
  }
  try {
    const buses = [await freePort(), await freePort()]
    for (const bus of buses) servers.push(await redisServer('--cluster-enabled', 'yes', '--cluster-port', `${bus}`))
    const ports = servers.map(({ url }) => Number(new URL(url).port))
    for (const port of ports) relays.push(await openRelay({ host: '127.0.0.1', port }, lost))
    const nodes = await Promise.all(servers.map(({ url }) => connectRedis(url, { name: 'cluster', keyPrefix: '' })))
    try {
      for (const [i, node] of nodes.entries()) {
        await node.config('SET', 'cluster-announce-ip', '127.0.0.1')
        await node.config('SET', 'cluster-announce-port', `${relays[i]?.port}`)
        await node.call('CLUSTER', 'ADDSLOTSRANGE', i * 8192, i * 8192 + 8191)
      }
      await nodes[0]?.call('CLUSTER', 'MEET', '127.0.0.1', `${ports[1]}`, `${buses[1]}`)
      const isComplete = async (): Promise<boolean> => {
        const infos = await Promise.all(nodes.map(async (node) => String(await node.call('CLUSTER', 'INFO'))))
        return infos.every((info) => info.includes('cluster_state:ok') && info.includes('cluster_slots_assigned:16384'))
      }
      await eventually('each node knows the other', isComplete)
    } finally {
      for (const node of nodes) node.disconnect()
    }
    return { url: `redis-cluster://${relays.map(({ port }) => `127.0.0.1:${port}`).join(',')}`, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
