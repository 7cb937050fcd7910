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
  /** Only the variables that wrangler needs are passed on. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Standard input: secrets are never passed as arguments. */
  readonly input?: string
  readonly signal: AbortSignal
}

/** Variables that wrangler needs, in upper case because Windows ignores case. All others may be secrets of the app, for example from `.env`. */
const passedOn =
  /^(CLOUDFLARE_.*|CF_(ACCOUNT_ID|API_.*)|WRANGLER_.*|((HTTPS?|ALL|NO)_PROXY)|PATH|PATHEXT|HOME|USER|USERNAME|USERPROFILE|XDG_.*|(LOCAL)?APPDATA|PROGRAMDATA|SYSTEMROOT|WINDIR|COMSPEC|TMPDIR|TMP|TEMP|LANG|LC_.*|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CI|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|NODE_USE_SYSTEM_CA|NODE_USE_ENV_PROXY|SSL_CERT_(FILE|DIR))$/

/** Returns the variables that wrangler needs. */
export function wranglerEnv(env: WranglerRun['env']): WranglerRun['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => passedOn.test(name.toUpperCase())))
}

/** Returns the entry file of the wrangler installed in the folder. Throws EDGE_DEPLOY_CONFIG. */
export function findWrangler(folder: string): string {
  try {
    const manifest = createRequire(join(folder, 'package.json')).resolve('wrangler/package.json')
    const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly bin: Readonly<Record<string, string>> }
    return join(dirname(manifest), bin.wrangler as string)
  } catch {
    throw edgeProxyErrors.EDGE_DEPLOY_CONFIG(`wrangler is not installed in ${folder}; install it with "npm install --save-dev wrangler@4"`)
  }
}

/** Runs wrangler and returns its output. Throws EDGE_DEPLOY_FAILED. */
export async function runWrangler(file: string, { args, cwd, env, input, signal }: WranglerRun): Promise<string> {
  const child = spawn(process.execPath, [file, ...args], {
    cwd,
    env: { WRANGLER_SEND_METRICS: 'false', ...wranglerEnv(env), ...(input === undefined ? {} : { CI: '1' }) },
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
