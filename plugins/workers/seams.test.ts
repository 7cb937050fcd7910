import { workerSeamsContract } from './seams.contract.js'

workerSeamsContract('the embedded stores', {})
