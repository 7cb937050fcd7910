import { canaryContract } from './canary.contract.js'
import { evidenceContract } from './evidence.contract.js'

canaryContract('the embedded stores', {})
evidenceContract('the embedded stores', {})
