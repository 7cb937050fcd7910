import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { edgeProxyErrors } from '../errors.js'

export interface WranglerRun {
  /** Command and options. */
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** For its standard input: a secret never is an argument. */
  readonly input?: string
  readonly signal: AbortSignal
}

/** Names of settings that a program started by `zin deploy` has no use for. */
const secrets: ReadonlySet<string> = new Set(['EDGE_REMOTE_SECRET', 'APP_KEY'])

/** The file of the wrangler that is installed in the folder. Throws EDGE_DEPLOY_CONFIG. */
export function findWrangler(folder: string): string {
  try {
    const manifest = createRequire(join(folder, 'package.json')).resolve('wrangler/package.json')
    const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly bin: Readonly<Record<string, string>> }
    return join(dirname(manifest), bin.wrangler as string)
  } catch {
    throw edgeProxyErrors.EDGE_DEPLOY_CONFIG(`wrangler is not installed in ${folder}; install it with "npm install --save-dev wrangler@4"`)
  }
}

/** Runs wrangler to its end, and returns what it printed. Throws EDGE_DEPLOY_FAILED. */
export async function runWrangler(file: string, { args, cwd, env, input, signal }: WranglerRun): Promise<string> {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !secrets.has(name)))
  const child = spawn(process.execPath, [file, ...args], {
    cwd,
    env: { WRANGLER_SEND_METRICS: 'false', ...own, ...(input === undefined ? {} : { CI: '1' }) },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw edgeProxyErrors.EDGE_DEPLOY_FAILED(args.slice(0, 2).join(' '), hidden(output, input))
  return hidden(output, input)
}

function hidden(output: string, secret: string | undefined): string {
  return secret === undefined ? output : output.replaceAll(secret, '********')
}
