import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { memoryFolder, type Server, startMariaDb } from '../services.js'
import { freePort } from './free-port.js'
import { freeze } from './freeze.js'
import type { MysqlEnv } from './mysql-database.js'

/** A MariaDB for a single test, with an empty database `zin`. */
export interface MysqlServer {
  readonly env: MysqlEnv
  /** It accepts connections but never responds. */
  hang(): void
  /** Ends a `hang`. */
  resume(): void
  stop(): Promise<void>
}

export async function mysqlServer(): Promise<MysqlServer> {
  const folder = mkdtempSync(join(memoryFolder(), 'zin-mysql-'))
  const port = await freePort()
  const children = new Map<Server, ChildProcess>()
  await startMariaDb(folder, port, children)
  const signal = (name: NodeJS.Signals): void => {
    for (const child of children.values()) child.kill(name)
  }
  return {
    env: {
      DB_CONNECTION: 'rdb',
      DB_HOST: '127.0.0.1',
      DB_PORT: `${port}`,
      DB_DATABASE: 'zin',
      DB_USERNAME: 'zin',
      DB_PASSWORD: 'zin',
    },
    hang: () => children.forEach(freeze),
    resume: () => signal('SIGCONT'),
    async stop() {
      const ended = Promise.all([...children.values()].map((child) => once(child, 'exit')))
      signal('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
