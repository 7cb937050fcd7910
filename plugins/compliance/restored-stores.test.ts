import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { restoredStoresContract } from './restored-stores.contract.js'

restoredStoresContract('the embedded stores', async () => {
  const copied = await mkdtemp(join(tmpdir(), 'zin-copied-'))
  return {
    env: {},
    async copyQueues(dataDir) {
      const folder = join(dataDir, 'queue')
      await cp(folder, copied, { recursive: true })
      return async () => {
        await rm(folder, { recursive: true })
        await cp(copied, folder, { recursive: true })
      }
    },
    close: () => rm(copied, { recursive: true, force: true }),
  }
})
