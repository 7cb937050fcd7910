import { movingJobsContract } from './moving-jobs.contract.js'

movingJobsContract('the embedded stores', { WORKER_ENCRYPTION: 'false' })
