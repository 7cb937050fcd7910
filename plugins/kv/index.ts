import { appSlug, checkedValue, definePlugin, optional } from 'zin'
import { databaseService } from 'zin/plugins/database'
import { checkEviction, describeRedis, openRedis, redisErrors, redisPackages, redisTarget } from 'zin/plugins/redis'
import { kvService } from './contract.js'
import { kvErrors } from './errors.js'
import { createKv as createKvTable } from './migrations/0001-create-kv.js'
import { useUnicodeInKv } from './migrations/0002-use-unicode.js'
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
      ctx.provide(kvService, service)
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
    ctx.onStart(async () => {
      const client = await openRedis({
        target,
        setting: 'REDIS_URL',
        name: `${prefix}:kv`,
        connectTimeoutMs: settings.REDIS_CONNECT_TIMEOUT_MS,
        log,
        mode: 'fail-fast',
        keyPrefix: `${prefix}:kv:`,
      })
      service.open(redisStore({ client, clock, where }))
      const strict = host.app.production && host.roles.size > 0
      await checkEviction({ client, plugin: 'kv', where, keeps: 'used nonces and token revocations', strict, log })
      await service.birth()
    })
    ctx.onStop(() => service.close())
  },
})
