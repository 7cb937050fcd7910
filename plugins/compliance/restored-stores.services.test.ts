import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'
import { testRedisUrl } from '../../scripts/testing/redis-client.js'
import { restoredStoresContract } from './restored-stores.contract.js'

restoredStoresContract('Redis and MariaDB', async () => {
  const database = mysqlDatabase('restored')
  await database.create()
  const redis = new Redis(testRedisUrl)
  const appName = `restored-${randomUUID()}`
  const keysOf = async () => (await redis.keys('*')).filter((key) => key.includes(appName))
  return {
    env: { ...database.env, REDIS_URL: testRedisUrl, APP_NAME: appName },
    async copyQueues() {
      const copies = await Promise.all((await keysOf()).map(async (key) => [key, await redis.dumpBuffer(key)] as const))
      return async () => {
        await redis.del(await keysOf())
        for (const [key, copy] of copies) await redis.restore(key, 0, copy)
      }
    },
    async close() {
      redis.disconnect()
      await database.drop()
    },
  }
})
