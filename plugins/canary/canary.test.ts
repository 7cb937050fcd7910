import { canaryContract } from './canary.contract.js'

canaryContract('the embedded stores', {})
