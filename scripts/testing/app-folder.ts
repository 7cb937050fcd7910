import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { quickStart } from './runnable.js'

type Env = Readonly<Record<string, string>>

const root = join(import.meta.dirname, '..', '..')

/** The output and exit code of a command. */
export interface CommandResult {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A folder with an app, and its command line. */
export interface AppFolder {
  readonly folder: string
  /** Runs a command until it exits. */
  zin(args: readonly string[], env?: Env): Promise<CommandResult>
  /** Runs `zin start`; resolves when the app listens. */
  start(env?: Env): Promise<RunningApp>
  /** Kills running processes and deletes the folder. */
  remove(): Promise<void>
}

export interface RunningApp {
  readonly url: string
  /** Its output so far. */
  output(): string
  /** Resolves when its output matches; rejects if it exits before. */
  said(pattern: RegExp): Promise<void>
  /** Sends SIGTERM and resolves to its exit code. */
  end(): Promise<number | null>
  /** Sends SIGKILL. */
  kill(): Promise<void>
}

/**
 * Creates an app that has Zin as an installed package: commands run the build in `dist`, as users run it, which also starts three times as
 * fast as the sources.
 *
 * @param files by name, in addition to `package.json`; includes `zin.config.mjs`. A `zin.config.ts` takes each process a second longer.
 */
export async function appFolder(files: Readonly<Record<string, string>>): Promise<AppFolder> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'zin-app-')))
  await writeFile(join(folder, 'package.json'), '{"name":"shop","type":"module"}')
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  const running = new Set<ChildProcess>()
  const launch = (args: readonly string[], env: Env = {}) => {
    const child = spawn(process.execPath, [...quickStart(), join(root, 'dist', 'cli.js'), ...args], {
      cwd: folder,
      env: { ...ownEnv(), ...env },
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
    folder,
    async zin(args, env) {
      const { child, text } = launch(args, env)
      const [code] = (await once(child, 'close')) as [number | null]
      return { code, ...text }
    },
    async start(env) {
      const { child, text } = launch(['start'], env)
      const output = (): string => text.out + text.err
      const said = (pattern: RegExp): Promise<void> =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            if (pattern.test(output())) resolve()
          }
          child.stdout.on('data', look)
          child.stderr.on('data', look)
          child.on('close', () => reject(new Error(`the app exited: ${output()}`)))
          look()
        })
      const address = /listens on (http:[^\s"]+)[\s"]/
      await said(address)
      return {
        url: address.exec(output())?.[1] ?? '',
        output,
        said,
        async end() {
          const closed = once(child, 'close')
          child.kill('SIGTERM')
          const [code] = (await closed) as [number | null]
          return code
        },
        kill: () => kill(child),
      }
    },
    async remove() {
      await Promise.all([...running].map(kill))
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** The environment that a process needs, without the settings of Zin. */
function ownEnv(): Env {
  const { PATH = '', HOME = '', TMPDIR } = process.env
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }) }
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
