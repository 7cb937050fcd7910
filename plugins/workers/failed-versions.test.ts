import { failedVersionsContract } from './failed-versions.contract.js'

failedVersionsContract('the embedded stores', { env: {}, shared: false })
