import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { searchContract } from './search.contract.js'

searchContract('the embedded store', async () => ({ dataDir: await mkdtemp(join(tmpdir(), 'zin-search-')), env: { QUEUE_FSYNC: 'off' } }))
