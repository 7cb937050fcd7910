import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { which } from './servers.mjs'
import { freePort } from './testing/free-port.js'
import { freeze } from './testing/freeze.js'

/** A private Redis and MariaDB, whose data is deleted by `stop`. */
export interface Services {
  /** `redis://127.0.0.1:<port>`; has 512 databases: append `/<n>`. */
  readonly redisUrl: string
  /** A user with all privileges, without a database: `mysql://zin:zin@127.0.0.1:<port>`. */
  readonly mysqlUrl: string
  readonly mysqlPort: number
  /** Stops a server's process, so that it accepts connections but never responds, until `thaw`. */
  freeze(server: Server): void
  thaw(server: Server): void
  stop(): Promise<void>
}

export type Server = 'redis' | 'mysql'

const readyWithinMs = 60_000

/** Starts both on free ports of the loopback interface. Needs `redis-server` and `mariadbd`; see servers.mjs. */
export async function startServices(): Promise<Services> {
  const folder = mkdtempSync(join(memoryFolder(), 'zin-'))
  const children = new Map<Server, ChildProcess>()
  const stop = async (): Promise<void> => {
    await Promise.all([...children.values()].map(end))
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const [redisPort, mysqlPort] = [await freePort(), await freePort()]
    await Promise.all([startRedis(folder, redisPort, children), startMariaDb(folder, mysqlPort, children)])
    return {
      redisUrl: `redis://127.0.0.1:${redisPort}`,
      mysqlUrl: `mysql://zin:zin@127.0.0.1:${mysqlPort}`,
      mysqlPort,
      freeze: (server) => freeze(children.get(server)),
      thaw: (server) => void children.get(server)?.kill('SIGCONT'),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startRedis(folder: string, port: number, children: Map<Server, ChildProcess>): Promise<void> {
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no', '--databases', '512']
  await startServer(program('redis-server'), args, /ready to accept connections/i, (child) => children.set('redis', child))
}

/**
 * Starts a MariaDB with its data in a subfolder of `folder`, and adds the child process to `children`. If TEST_MYSQLD is the path of a
 * `mysqld`, it starts that MySQL instead.
 */
export async function startMariaDb(folder: string, port: number, children: Map<Server, ChildProcess>): Promise<void> {
  const { TEST_MYSQLD: mysqld } = process.env
  const data = join(folder, 'data')
  const root = process.getuid?.() === 0 ? ['--user=root'] : []
  if (mysqld) {
    await run(mysqld, ['--no-defaults', ...root, '--initialize-insecure', `--datadir=${data}`])
  } else {
    mkdirSync(data)
    const install = ['--no-defaults', ...root, '--auth-root-authentication-method=normal', '--skip-test-db', `--datadir=${data}`]
    await run(program('mariadb-install-db'), install)
  }
  const init = join(folder, 'init.sql')
  writeFileSync(
    init,
    [
      'CREATE DATABASE zin;',
      "CREATE USER 'zin'@'127.0.0.1' IDENTIFIED BY 'zin';",
      "GRANT ALL ON *.* TO 'zin'@'127.0.0.1' WITH GRANT OPTION;",
      '',
    ].join('\n'),
  )
  const args = [
    '--no-defaults',
    ...root,
    `--datadir=${data}`,
    `--init-file=${init}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--socket=${join(folder, 's')}`,
    `--pid-file=${join(folder, 'pid')}`,
    '--skip-name-resolve',
    '--skip-log-bin',
    '--innodb-flush-log-at-trx-commit=0',
    '--innodb-buffer-pool-size=64M',
    mysqld ? '--innodb-redo-log-capacity=32M' : '--innodb-log-file-size=16M',
    ...(mysqld ? ['--mysqlx=OFF', '--secure-file-priv='] : []),
    '--character-set-server=utf8mb4',
    // Nothing may depend on the zone of the server.
    '--default-time-zone=+09:00',
  ]
  // MySQL also prints that its X plugin is ready.
  const ready = /(mariadbd|mysqld)(: |.*)ready for connections/
  await startServer(mysqld || program('mariadbd'), args, ready, (child) => children.set('mysql', child))
}

/** Resolves when the program prints that it is ready. */
async function startServer(path: string, args: readonly string[], ready: RegExp, started: (child: ChildProcess) => void): Promise<void> {
  // In a separate process group, so that Ctrl-C in the terminal does not end a server before the tests that use it.
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  started(child)
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const give = (why: string): void => reject(new Error(`${path} ${why}:\n${output.slice(-2000)}`))
    const timer = setTimeout(() => give(`was not ready within ${readyWithinMs} ms`), readyWithinMs)
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-10_000)
      if (!ready.test(output)) return
      clearTimeout(timer)
      resolve()
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('error', (error) => give(`did not start (${error.message})`))
    child.once('exit', (code) => {
      clearTimeout(timer)
      give(`exited with code ${code}`)
    })
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  // A frozen process would not receive SIGTERM.
  child.kill('SIGCONT')
  const hard = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(hard)
}

async function run(path: string, args: readonly string[]): Promise<void> {
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const read = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${path} exited with code ${code}:\n${output.slice(-2000)}`)
}

function program(name: string): string {
  const path = which(name)
  if (path === undefined)
    throw new Error(`${name} is not installed; \`npm test\` installs it on Debian as root, and prints instructions elsewhere`)
  return path
}

/** A memory-backed folder, because test data need not reach a disk; the temporary folder if there is none with enough room. */
export function memoryFolder({ leastMb = 0 } = {}): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    const { bavail, bsize } = statfsSync('/dev/shm')
    return bavail * bsize >= leastMb * 2 ** 20 ? '/dev/shm' : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** npm run services: keeps both running and prints their settings. */
async function main(): Promise<void> {
  const services = await startServices()
  const db = {
    DB_CONNECTION: 'rdb',
    DB_HOST: '127.0.0.1',
    DB_PORT: services.mysqlPort,
    DB_DATABASE: 'zin',
    DB_USERNAME: 'zin',
    DB_PASSWORD: 'zin',
  }
  const env = { TEST_REDIS_URL: services.redisUrl, TEST_MYSQL_URL: `${services.mysqlUrl}/zin`, REDIS_URL: services.redisUrl, ...db }
  for (const [name, value] of Object.entries(env)) console.log(`export ${name}=${value}`)
  console.error('Redis and MariaDB are running; press Ctrl-C to stop them')
  await new Promise<void>((resolve) => {
    const held = setInterval(() => {}, 60_000)
    // Ctrl-C can arrive twice, from the terminal and from npm; the second must not interrupt the stop.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        clearInterval(held)
        resolve()
      })
    }
  })
  await services.stop()
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()
