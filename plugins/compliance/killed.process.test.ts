import { join } from 'node:path'
import { killedContract } from './killed.contract.js'
import { filesWith } from './testing/store-dump.js'

killedContract('the embedded stores', { env: {}, shared: false, leaksOf: (rootDir, text) => filesWith(join(rootDir, 'data'), text) })
