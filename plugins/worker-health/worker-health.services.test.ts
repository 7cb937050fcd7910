import { workerHealthContract } from './worker-health.contract.js'

workerHealthContract('Redis', {
  REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set',
  WORKER_PERSISTENCE_DRIVER: 'kvstore',
})
