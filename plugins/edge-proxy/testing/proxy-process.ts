import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { quickStart } from '../../../scripts/testing/runnable.js'
import { type EdgeClient, edgeClient } from './edge-client.js'

const root = join(import.meta.dirname, '..', '..', '..')
const ownCli = join(root, 'dist', 'cli.js')

export type Env = Readonly<Record<string, string>>

/** A `zin proxy` process. */
export interface ProxyProcess {
  readonly client: EdgeClient
  output(): string
  /** Sends a signal; resolves to the exit code, or null if the signal killed it. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
  /** Resolves when the process has exited. */
  ended(): Promise<void>
}

/** A folder without an app. */
export interface PlainFolder {
  readonly path: string
  proxy(args: readonly string[], env?: Env): Promise<ProxyProcess>
  /** Runs a command until it exits. */
  zin(args: readonly string[], env?: Env): Promise<{ readonly code: number | null; readonly output: string }>
  remove(): Promise<void>
}

/** Starts `zin proxy` on a free port in an existing folder; resolves when it listens. @param cli default: the one in this repository. */
export async function startProxy(folder: string, args: readonly string[] = [], env: Env = {}, cli = ownCli): Promise<ProxyProcess> {
  const { child, output } = launch(folder, ['proxy', '--port', '0', ...args], env, cli)
  const address = /listens on (http:\/\/\S+)[^\n]*\n/
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', () => (address.test(output()) ? resolve() : undefined))
    child.on('close', () => reject(new Error(`the proxy ended: ${output()}`)))
  })
  const gone = once(child, 'exit')
  return {
    client: edgeClient(address.exec(output())?.[1] ?? ''),
    output,
    async end(signal) {
      child.kill(signal)
      const [code] = (await gone) as [number | null]
      return code
    },
    ended: async () => void (await gone),
  }
}

function launch(
  cwd: string,
  args: readonly string[],
  env: Env = {},
  cli = ownCli,
): { readonly child: ChildProcess; readonly output: () => string } {
  const { PATH = '', HOME = '', TMPDIR } = process.env
  const own = { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...env }
  const child = spawn(process.execPath, [...quickStart(), cli, ...args], { cwd, env: own, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return { child, output: () => text }
}

/** @param files content by name. @param packages whether to link the packages of this repository, including miniflare and wrangler. */
export async function plainFolder(files: Readonly<Record<string, string>> = {}, { packages = true } = {}): Promise<PlainFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'zin-edge-')))
  await writeFile(join(path, 'package.json'), '{"name":"edge","type":"module"}')
  if (packages) await symlink(join(root, 'node_modules'), join(path, 'node_modules'), 'junction')
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true })
    await writeFile(join(path, name), text)
  }
  const running = new Set<ProxyProcess>()
  return {
    path,
    async zin(args, env) {
      const { child, output } = launch(path, args, env)
      const [code] = (await once(child, 'close')) as [number | null]
      return { code, output: output() }
    },
    async proxy(args, env) {
      const started = await startProxy(path, args, env)
      running.add(started)
      return started
    },
    async remove() {
      for (const one of running) await one.end('SIGKILL')
      await rm(path, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/**
 * Returns a module that kills the database process, and optionally the proxy, once, after a row was committed to the table `killer` and
 * before the commit is reported. The proxy in Node and its child processes preload it.
 */
export const killAfterCommit = (whom: 'proxy' | 'database'): string => `
import { existsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
const require = createRequire(${JSON.stringify(join(root, 'package.json'))})
const name = '@photostructure/sqlite'
const builtIn = process.getBuiltinModule('node:sqlite')
const binding = builtIn ?? require(name)
class DatabaseSync extends binding.DatabaseSync {
  exec(sql) {
    super.exec(sql)
    if (sql !== 'commit' || existsSync('killed')) return
    const count = (from) => this.prepare('select count(*) as n from ' + from).all()[0].n
    if (count("sqlite_schema where name = 'killer'") === 0 || count('killer') === 0) return
    writeFileSync('killed', '')
    for (const pid of ${whom === 'proxy' ? '[process.ppid, process.pid]' : '[process.pid]'}) process.kill(pid, 'SIGKILL')
  }
}
if (builtIn) builtIn.DatabaseSync = DatabaseSync
else require.cache[require.resolve(name)].exports = { ...binding, DatabaseSync }
`
