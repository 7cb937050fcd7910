import { alertActionsContract } from './alert-actions.contract.js'
import { alertsContract } from './alerts.contract.js'
import { graphqlContract } from './graphql.contract.js'
import { jobOptionsContract } from './job-options.contract.js'
import { jobsContract } from './jobs.contract.js'
import { manageContract } from './manage.contract.js'
import { monitorContract } from './monitor.contract.js'
import { searchContract } from './search.contract.js'
import { webhooksContract } from './webhooks.contract.js'

monitorContract('Redis', () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }))
manageContract('Redis', () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }))
graphqlContract('Redis', () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }))
alertsContract('Redis', () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }))
webhooksContract('Redis', () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }))
alertActionsContract('Redis', () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }))
jobsContract('Redis', () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }))
searchContract('Redis', () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }))
jobOptionsContract('Redis', () => ({ REDIS_URL: process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set' }))
