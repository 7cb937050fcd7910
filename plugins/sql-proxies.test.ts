import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { openEdge } from './edge-proxy/testing/proxies.js'
import { wireContract } from './sql-wire/testing/wire-contract.js'

const dataDir = await mkdtemp(join(tmpdir(), 'zin-edge-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 3 }))

wireContract({
  name: 'the edge proxy in Node',
  maxParams: 100,
  maxBodyBytes: 131_072,
  open: ({ mode, statements }) => openEdge('node', mode, statements, dataDir),
})
