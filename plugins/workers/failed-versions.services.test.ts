import { failedVersionsContract } from './failed-versions.contract.js'

failedVersionsContract('Redis', {
  env: { REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set', WORKER_PERSISTENCE_DRIVER: 'kvstore' },
  shared: true,
})
