import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { messageOf } from 'zin'
import { edgeProxyErrors } from '../errors.js'
import { workerFile } from '../local/run-proxy.js'
import type { DeployPlan } from './plan.js'
import { findWrangler, runWrangler } from './wrangler.js'

export interface DeployOptions {
  readonly plan: DeployPlan
  /** Folder of the app; its wrangler is used. */
  readonly folder: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly dryRun: boolean
  readonly signal: AbortSignal
  /** Prints a line of progress. */
  readonly say: (line: string) => void
}

export interface Deployed {
  readonly bundle: { readonly bytes: number; readonly gzipped: number }
  /** URL of the worker; absent after a dry run. */
  readonly url?: string
}

/** Writes the worker and its configuration to `.zin/edge` and deploys them with wrangler, then sets the secret. */
export async function deploy({ plan, folder, env, dryRun, signal, say }: DeployOptions): Promise<Deployed> {
  const wrangler = findWrangler(folder)
  const cwd = join(folder, '.zin', 'edge')
  const bundle = prepare(cwd, plan)
  const run = (args: readonly string[], input?: string): Promise<string> =>
    runWrangler(wrangler, {
      args: [...args, '--config', join(cwd, 'wrangler.json')],
      cwd,
      env,
      signal,
      ...(input === undefined ? {} : { input }),
    })
  if (dryRun) {
    await run(['deploy', '--dry-run', '--outdir', join(cwd, 'dist')])
    return { bundle }
  }
  say(`Deploying the worker "${plan.name}" …`)
  const printed = await run(['deploy'])
  // Until the secret is set, the worker refuses every request.
  say(`Setting the secret ${plan.secret.name} …`)
  await run(['secret', 'put', plan.secret.name], plan.secret.value)
  const url = /https:\/\/\S+\.workers\.dev\b/.exec(printed)?.[0]
  return { bundle, ...(url === undefined ? {} : { url }) }
}

function prepare(cwd: string, { config }: DeployPlan): Deployed['bundle'] {
  try {
    mkdirSync(cwd, { recursive: true, mode: 0o700 })
    copyFileSync(workerFile(), join(cwd, 'worker.js'))
    writeFileSync(join(cwd, 'wrangler.json'), `${JSON.stringify(config, null, 2)}\n`)
  } catch (error) {
    throw edgeProxyErrors.EDGE_DEPLOY_CONFIG(`${cwd} cannot be written: ${messageOf(error)}`)
  }
  const code = readFileSync(join(cwd, 'worker.js'))
  return { bytes: code.length, gzipped: gzipSync(code).length }
}
