import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..', '..')

export interface CommandResult {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A folder with an app, and the command line in it. */
export interface AppFolder {
  zin(args: readonly string[]): Promise<CommandResult>
  /** `zin start`; resolves with its address once it serves. */
  start(): Promise<string>
  /** Ends what runs and removes the folder. */
  remove(): Promise<void>
}

/** @param files by name: what the folder holds, `zin.config.ts` among it. */
export async function appFolder(files: Readonly<Record<string, string>>): Promise<AppFolder> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'zin-workers-cli-')))
  await writeFile(join(folder, 'package.json'), '{"name":"shop","type":"module"}')
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const running = new Set<ChildProcess>()
  const launch = (args: readonly string[]) => {
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), join(root, 'core', 'cli.ts'), ...args], {
      cwd: folder,
      env: { PATH, HOME, TSX_TSCONFIG_PATH: join(root, 'tsconfig.json') },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    child.on('exit', () => running.delete(child))
    const text = { out: '', err: '' }
    child.stdout.on('data', (chunk) => (text.out += chunk))
    child.stderr.on('data', (chunk) => (text.err += chunk))
    return { child, text }
  }
  return {
    async zin(args) {
      const { child, text } = launch(args)
      const [code] = (await once(child, 'close')) as [number | null]
      return { code, ...text }
    },
    async start() {
      const { child, text } = launch(['start'])
      return new Promise<string>((resolve, reject) => {
        child.stdout.on('data', () => {
          const [, url] = /listens on (http:\S+)/.exec(text.out) ?? []
          if (url !== undefined) resolve(url)
        })
        child.on('exit', () => reject(new Error(`the app ended: ${text.out}${text.err}`)))
      })
    },
    async remove() {
      for (const child of running) {
        const exited = once(child, 'exit')
        child.kill('SIGTERM')
        await exited
      }
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}
