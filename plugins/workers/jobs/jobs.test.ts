import { jobsContract } from './jobs.contract.js'

jobsContract('the embedded store', { QUEUE_FSYNC: 'off' })
