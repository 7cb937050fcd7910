import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { generateKeys } from '../core/cli/scaffold.js'
import { freePort } from './testing/free-port.js'
import { quickStart } from './testing/runnable.js'

const builtCli = resolve('dist/cli.js')

export type Env = Readonly<Record<string, string>>

/** A started `zin` process. */
export interface AppProcess {
  readonly url: string
  readonly pid: number
  /** From the start of the process to the first 200 on the probed path, in ms. */
  readonly readyMs: number
  output(): string
  /** Sends a signal and returns the exit code; null if the signal ended the process. */
  end(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): Promise<number | null>
}

/** The output and exit code of a CLI command. */
export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The environment of a started process: what any program needs, without Zin's settings. */
function cleanEnv(env: Env): Env {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'NODE_V8_COVERAGE', 'SystemRoot'].flatMap((name) =>
    process.env[name] ? [[name, process.env[name]]] : [],
  )
  // Also for the processes that it starts in turn, such as the app of a tour.
  const quick = quickStart().join(' ')
  return { ...Object.fromEntries(kept), ...(quick === '' ? {} : { NODE_OPTIONS: quick }), ...env }
}

export interface StartOptions {
  readonly env?: Env
  /** Path that returns 200 once the app is ready. Default `/health/ready`. */
  readonly probe?: string
  /** Path of the CLI. Default: the one built from this repository. */
  readonly cli?: string
  /** Arguments of the CLI. Default: `start`. */
  readonly args?: readonly string[]
  /** The user and group that it runs as. Default: this one. */
  readonly uid?: number
}

/** Runs `zin start` in an app's folder on a free port; resolves when it is ready. If it exits before, throws an error with its output. */
export async function startApp(
  folder: string,
  { env = {}, probe = '/health/ready', cli = builtCli, args = ['start'], uid }: StartOptions = {},
): Promise<AppProcess> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const startedAt = performance.now()
  const { child, output, news } = watch(spawnNode([cli, ...args], folder, { PORT: `${port}`, ...env }, uid))
  while (!(await isOk(`${url}${probe}`))) {
    const late = performance.now() - startedAt > 60_000
    if (late) child.kill('SIGKILL')
    if (late || child.exitCode !== null || child.signalCode !== null) throw new Error(`the app in ${folder} was not ready:\n${output()}`)
    await news()
  }
  return {
    url,
    pid: child.pid ?? 0,
    readyMs: performance.now() - startedAt,
    output,
    async end(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const exited = once(child, 'exit')
      child.kill(signal)
      const hard = setTimeout(() => child.kill('SIGKILL'), 60_000)
      const [code] = (await exited) as [number | null]
      clearTimeout(hard)
      return code
    },
  }
}

/** A running CLI command that serves. */
export interface ServingProcess {
  readonly url: string
  end(): Promise<void>
}

/** Runs a command that serves, such as `proxy:mysql`; resolves when it prints the URL that it listens on. */
export async function startServing(args: readonly string[], folder: string, env: Env = {}): Promise<ServingProcess> {
  const { child, stdout, output, news } = watch(spawnNode([builtCli, ...args], folder, env))
  const exited = once(child, 'exit')
  const end = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
  }
  const deadline = performance.now() + 60_000
  for (;;) {
    const url = /listens on (http:\S+)/.exec(stdout())?.[1]
    if (url !== undefined) return { url, end }
    const late = performance.now() > deadline
    if (late) await end()
    if (late || child.exitCode !== null || child.signalCode !== null)
      throw new Error(`zin ${args.join(' ')} did not start to listen:\n${output()}`)
    await news()
  }
}

/** Runs a CLI command until it exits. */
export async function runCli(args: readonly string[], folder: string, env: Env = {}): Promise<CommandResult> {
  return runNode([builtCli, ...args], folder, env)
}

/** Runs a script of a POSIX shell, which ends at its first command that fails. */
export async function runShell(script: string, folder: string, env: Env = {}): Promise<CommandResult> {
  return result(spawn('sh', ['-euc', script], { cwd: folder, env: cleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'] }))
}

/** Runs a Node program until it exits; for test files and scripts of examples. */
export async function runNode(args: readonly string[], folder: string, env: Env = {}, uid?: number): Promise<CommandResult> {
  return result(spawnNode(args, folder, env, uid))
}

async function result(started: ChildProcess): Promise<CommandResult> {
  const { child, stdout, stderr } = watch(started)
  const hard = setTimeout(() => child.kill('SIGKILL'), 300_000)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(hard)
  return { code, stdout: stdout(), stderr: stderr() }
}

function spawnNode(args: readonly string[], folder: string, env: Env, uid?: number): ChildProcess {
  const user = uid === undefined ? {} : { uid, gid: uid }
  return spawn(process.execPath, args, { cwd: folder, env: cleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'], ...user })
}

interface Watched {
  readonly child: ChildProcess
  stdout(): string
  stderr(): string
  output(): string
  /** Resolves at the next output, when the process exits, or after 100 ms. */
  news(): Promise<void>
}

function watch(child: ChildProcess): Watched {
  const chunks: { readonly from: 'stdout' | 'stderr'; readonly text: string }[] = []
  let wake = (): void => {}
  for (const from of ['stdout', 'stderr'] as const)
    child[from]?.on('data', (chunk: Buffer) => {
      chunks.push({ from, text: chunk.toString() })
      wake()
    })
  child.on('exit', () => wake())
  const textOf = (from?: string): string =>
    chunks
      .filter((chunk) => from === undefined || chunk.from === from)
      .map((chunk) => chunk.text)
      .join('')
  const news = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, 100)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  return { child, stdout: () => textOf('stdout'), stderr: () => textOf('stderr'), output: () => textOf(), news }
}

async function isOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url)
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

/** A temporary folder; `remove` deletes it. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'zin test '))
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }) }
}

/** Makes the packages of the repository, and `zin` itself, importable in `folder`. */
export function linkPackages(folder: string): void {
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), process.platform === 'win32' ? 'junction' : 'dir')
}

/** Copies an example and generates its keys, so that it can be started. */
export function copyExample(example: string, target: string): string {
  const folder = join(target, example)
  const skipped = new Set(['node_modules', '.zin', '.env'])
  cpSync(resolve('examples', example), folder, { recursive: true, filter: (path) => !skipped.has(basename(path)) })
  linkPackages(folder)
  writeFileSync(join(folder, '.env'), generateKeys(readFileSync(join(folder, '.env.example'), 'utf8')))
  return folder
}

/** The arguments for Node that run an app's tests, from its package.json. */
export function ownTest(folder: string, command = builtCli): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { scripts: { test: string } }
  const [program, ...args] = scripts.test.split(' ')
  if (program !== 'zin') throw new Error(`the script "test" in ${folder} does not start with "zin"`)
  return [command, ...args]
}
