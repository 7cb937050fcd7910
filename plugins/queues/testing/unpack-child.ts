/** A child process that kills itself while it creates a data directory from a template. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openEmbedded } from '../embedded/open.js'

const [dataDir = '', template = ''] = process.argv.slice(2)

const look = (): void => {
  if (existsSync(join(dataDir, 'queue.new', 'PG_VERSION'))) process.kill(process.pid, 'SIGKILL')
  setImmediate(look)
}
look()
await openEmbedded({ dataDir, fsync: true, template })
