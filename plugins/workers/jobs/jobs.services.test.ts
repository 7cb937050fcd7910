import { jobsContract } from './jobs.contract.js'

jobsContract('Redis', { REDIS_URL: process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set' })
