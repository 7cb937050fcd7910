import { killedContract } from './killed.contract.js'

killedContract('the embedded stores', { WORKER_PERSISTENCE_DRIVER: 'db' })
