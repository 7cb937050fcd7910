import { appSlug, checkedValue, definePlugin, optional } from 'zin'
import { databaseService } from 'zin/plugins/database'
import {
  appConnections,
  checkEviction,
  connectionName,
  describeRedis,
  openRedis,
  type RedisClient,
  redisErrors,
  redisPackages,
  redisStoreInfo,
  redisTarget,
} from 'zin/plugins/redis'
import { kvService } from './contract.js'
import { kvErrors } from './errors.js'
import { createKv as createKvTable } from './migrations/0001-create-kv.js'
import { useUnicodeInKv } from './migrations/0002-use-unicode.js'
import { addNameToKv } from './migrations/0003-add-name.js'
import { kvOptions } from './options.js'
import { createKv } from './service.js'
import { kvSettings } from './settings.js'
import { databaseStore } from './store/db.js'
import { redisStore } from './store/redis.js'

export type { Kv, SetOptions, Tally } from './contract.js'
export { kvService } from './contract.js'
export { KeyIndex } from './key-index.js'
export type { KvOptions } from './options.js'
export type { NextValue, UpdatedKey } from './update.js'
export { updateKey } from './update.js'

const sweepEveryMs = 60_000
const tables = ['zin_kv']

/** A key-value store shared by all processes of the app: Redis, or a table of the database. */
export const kv = definePlugin({
  name: 'kv',
  version: '0.1.0',
  description: 'Key-value store with TTLs, on Redis or in a table of the database',
  uses: { database: optional(databaseService) },
  provides: [kvService],
  packages: redisPackages,
  errors: { ...kvErrors, ...redisErrors },
  settings: kvSettings,
  options: kvOptions,
  setup(ctx) {
    const { settings, options, services, clock, log, host } = ctx
    ctx.describe(() => (settings.REDIS_URL === '' ? 'database' : 'redis'))
    if (settings.REDIS_URL === '') {
      const { database } = services
      const service = createKv('database', clock)
      if (!database) {
        ctx.provide(kvService, service)
        ctx.onCheck(() => {
          throw kvErrors.KV_NO_STORE()
        })
        return
      }
      ctx.migration(createKvTable)
      ctx.migration(useUnicodeInKv)
      ctx.migration(addNameToKv)
      ctx.provide(kvService, service)
      ctx.hooks.on('collectData', () => ({
        tables,
        open: async () => (await import('./store/data.js')).tableData({ database, clock, birthKey: service.birthKey }),
      }))
      ctx.onStart(async () => {
        service.open(databaseStore({ database, clock }))
        await service.birth()
        ctx.every(sweepEveryMs, () => service.sweep())
      })
      ctx.onStop(() => service.close())
      return
    }
    const target = checkedValue(
      ctx,
      () => redisTarget('REDIS_URL', settings.REDIS_URL),
      () => redisTarget('REDIS_URL', 'redis://localhost'),
    )
    const where = describeRedis(target)
    const prefix = options.prefix ?? appSlug(host.app.name)
    const service = createKv('redis', clock)
    ctx.provide(kvService, service)
    const name = `${prefix}:kv`
    const { production } = host.app
    ctx.hooks.on('collectStores', () => [
      redisStoreInfo({ target, connectTimeoutMs: settings.REDIS_CONNECT_TIMEOUT_MS, keyPrefix: `${name}:`, strict: production, log }),
    ])
    let opened: RedisClient | undefined
    const connected = (): RedisClient => {
      if (opened === undefined) throw kvErrors.KV_NOT_STARTED()
      return opened
    }
    ctx.hooks.on('collectData', () => ({
      tables,
      users: () => appConnections(connected(), [name]),
      open: async () =>
        (await import('./store/data.js')).redisData({ client: connected(), clock, birthKey: service.birthKey, prefix: `${name}:` }),
    }))
    ctx.onStart(async () => {
      const client = await openRedis({
        target,
        setting: 'REDIS_URL',
        name: connectionName(name, host.roles.size > 0),
        connectTimeoutMs: settings.REDIS_CONNECT_TIMEOUT_MS,
        log,
        mode: 'fail-fast',
        keyPrefix: `${name}:`,
      })
      opened = client
      service.open(redisStore({ client, clock, where }))
      const strict = production && host.roles.size > 0
      await checkEviction({ client, plugin: 'kv', where, keeps: 'used nonces and token revocations', strict, log })
      await service.birth()
    })
    ctx.onStop(() => service.close())
  },
})
