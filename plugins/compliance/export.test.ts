import { exportContract } from './export.contract.js'

exportContract('the embedded store', {})
