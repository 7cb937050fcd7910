import { defineSettings, type PackageUses } from 'zin'

/** Settings of the Redis connection. A plugin that reads them includes them in its `settings`, so that there is one declaration. */
export const redisSettings = defineSettings({
  REDIS_URL: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'URL of Redis, Redis Cluster or Sentinel (for the forms see `plugins/redis`); empty for the embedded stores',
  },
  REDIS_CONNECT_TIMEOUT_MS: { type: 'int', default: 10_000, min: 100, max: 600_000, summary: 'How long the boot waits for Redis, in ms' },
})

/** The package of the Redis client: `packages` of a plugin that reads {@link redisSettings}. */
export const redisPackages: PackageUses<object, { readonly REDIS_URL: string }> = {
  ioredis: { when: 'REDIS_URL is set', needed: ({ settings }) => settings.REDIS_URL !== '' },
}
