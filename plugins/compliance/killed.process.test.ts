import { join } from 'node:path'
import { filesWith } from '../../scripts/testing/store-dump.js'
import { killedContract } from './killed.contract.js'

killedContract('the embedded stores', { env: {}, shared: false, leaksOf: (rootDir, text) => filesWith(join(rootDir, 'data'), text) })
