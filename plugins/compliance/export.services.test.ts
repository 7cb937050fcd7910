import { randomUUID } from 'node:crypto'
import { exportContract } from './export.contract.js'

exportContract('Redis', { REDIS_URL: process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set', APP_NAME: `export-${randomUUID()}` })
