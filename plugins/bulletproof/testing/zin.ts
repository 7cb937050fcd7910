import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..', '..')

/** A folder with an app, and the command line in it. */
export interface AppFolder {
  readonly folder: string
  zin(
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>
  /** `zin start` on a free port. */
  start(env?: Readonly<Record<string, string>>): Promise<RunningApp>
}

export interface RunningApp {
  readonly url: string
  /** All that it has printed so far. */
  output(): string
  /** Waits for a line of its output. */
  said(pattern: RegExp): Promise<void>
  end(): Promise<void>
}

const login = `async (email, password) => (password === 'letmein-0123' ? { id: email.split('@')[0], email, role: 'user' } : undefined)`

/** The configuration: everything of authentication, with what it keeps in tables. */
const config = `
import { defineConfig } from 'zin'
import { bulletproof, database, jwt, kv, login } from 'zin/plugins'
export default defineConfig({
  app: { name: 'corner-shop', port: 0 },
  plugins: [database(), kv(), jwt(), bulletproof(), login({ verifyCredentials: ${login} })],
})
`

/** @param configuration text of `zin.config.ts`; default: all of authentication, with users of its own. */
export async function withFolder(env: string, test: (app: AppFolder) => Promise<void>, configuration = config): Promise<void> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'zin-auth-cli-')))
  await writeFile(join(folder, 'package.json'), '{"name":"shop","type":"module"}')
  await writeFile(join(folder, 'zin.config.ts'), configuration)
  await writeFile(join(folder, '.env'), env)
  const running = new Set<ChildProcess>()
  const launch = (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), join(root, 'core', 'cli.ts'), ...args], {
      cwd: folder,
      env: { PATH, HOME, TSX_TSCONFIG_PATH: join(root, 'tsconfig.json'), ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    child.on('exit', () => running.delete(child))
    const text = { out: '', err: '' }
    child.stdout.on('data', (chunk) => (text.out += chunk))
    child.stderr.on('data', (chunk) => (text.err += chunk))
    return { child, text }
  }
  try {
    await test({
      folder,
      async zin(args, more) {
        const { child, text } = launch(args, more)
        const [code] = (await once(child, 'close')) as [number | null]
        return { code, ...text }
      },
      async start(more) {
        const { child, text } = launch(['start'], more)
        const said = (pattern: RegExp): Promise<void> =>
          new Promise((resolve, reject) => {
            const look = (): void => {
              if (pattern.test(text.out + text.err)) resolve()
            }
            child.stdout.on('data', look)
            child.stderr.on('data', look)
            child.on('exit', () => reject(new Error(`the app ended: ${text.out}${text.err}`)))
            look()
          })
        await said(/listens on http:\S+/)
        return {
          url: /listens on (http:[^\s"]+)/.exec(text.out)?.[1] ?? '',
          said,
          output: () => text.out + text.err,
          async end() {
            const exited = once(child, 'exit')
            child.kill('SIGTERM')
            await exited
          },
        }
      },
    })
  } finally {
    for (const child of running) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
}
