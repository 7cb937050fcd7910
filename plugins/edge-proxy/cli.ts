import { isAbsolute, join } from 'node:path'
import { type Command, defineCommand, readSettings } from 'zin'

/** Default port of the local proxy. */
const defaultPort = 8790

const statements = { type: 'string', summary: 'File with the registered statements; overrides EDGE_STATEMENTS_JSON' } as const

/** `zin proxy`: runs the edge proxy on this machine. */
export const proxyCommand = defineCommand({
  name: 'proxy',
  summary: 'Run the edge SQL proxy on this machine',
  needs: 'nothing',
  serves: true,
  options: {
    host: { type: 'string', summary: 'Address to listen on', default: '127.0.0.1' },
    port: { type: 'int', summary: 'Port to listen on; 0: any free port', default: defaultPort, min: 0, max: 65_535 },
    statements,
    runtime: {
      type: 'string',
      summary: 'Runtime for the worker; auto: workerd if the package miniflare is installed, otherwise node',
      default: 'auto',
      values: ['auto', 'workerd', 'node'],
    },
  },
  async run({ cwd, env, options, print, signal }) {
    const [{ readStatements, runProxy }, own] = await Promise.all([import('./local/run-proxy.js'), import('./settings.js')])
    const given = options.statements === undefined ? {} : { EDGE_STATEMENTS_JSON: readStatements(cwd, options.statements) }
    const settings = readSettings({ ...own.edgeProxySettings, ...own.edgeLocalSettings }, { ...env, ...given }, 'zin proxy')
    const dir = settings.ZIN_DATA_DIR
    const proxy = await runProxy({
      folder: cwd,
      dataDir: isAbsolute(dir) ? dir : join(cwd, dir),
      settings: own.workerSettings(settings),
      binding: settings.EDGE_BINDING,
      host: options.host,
      port: options.port,
      runtime: options.runtime as 'auto' | 'workerd' | 'node',
      onError: (text) => print.error(text),
    })
    const { config } = proxy
    for (const warning of config.registry.warnings) print.error(`EDGE_STATEMENTS_JSON: ${warning}`)
    const allowed = config.mode === 'sql' ? 'sql mode' : `registry mode, ${config.registry.statements.length} statements`
    print.line(`Edge proxy listens on ${proxy.url} (${proxy.runtime}; ${allowed})`)
    print.line(`  data     ${proxy.data}`)
    print.line(`  secret   ${settings.EDGE_REMOTE_SECRET === '' ? 'APP_KEY' : 'EDGE_REMOTE_SECRET'}`)
    if (config.mode === 'registry' && config.registry.statements.length === 0)
      print.error(
        'no statements are registered, so all requests are refused; set EDGE_STATEMENTS_JSON, pass --statements, or set EDGE_REMOTE_MODE=sql',
      )
    if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    await proxy.close()
  },
})

/** `zin deploy`: deploys the edge proxy as a worker. */
export const deployCommand = defineCommand({
  name: 'deploy',
  summary: 'Deploy the edge SQL proxy as a worker, with the wrangler installed in this folder',
  needs: 'nothing',
  json: true,
  options: {
    'dry-run': {
      type: 'boolean',
      summary: 'Build and check the worker and print what would be sent, without sending it; needs no account',
    },
    statements,
  },
  async run({ cwd, env, options, print, signal }) {
    const [{ checkedConfig, readStatements }, { deploy }, { deployPlan }, own] = await Promise.all([
      import('./local/run-proxy.js'),
      import('./deploy/deploy.js'),
      import('./deploy/plan.js'),
      import('./settings.js'),
    ])
    const given = options.statements === undefined ? {} : { EDGE_STATEMENTS_JSON: readStatements(cwd, options.statements) }
    const settings = readSettings({ ...own.edgeProxySettings, ...own.edgeDeploySettings }, { ...env, ...given }, 'zin deploy')
    await checkedConfig(own.workerSettings(settings))
    const plan = deployPlan(settings)
    const { bundle, url } = await deploy({
      plan,
      folder: cwd,
      env,
      dryRun: options['dry-run'] === true,
      signal,
      say: (line) => print.line(line),
    })
    if (options['dry-run']) print.line('Dry run: nothing was sent. A deployment would send:')
    print.record({
      name: plan.name,
      ...(url === undefined ? {} : { url }),
      binding: `${plan.binding}: D1 database ${plan.database}`,
      vars: print.json ? plan.vars : Object.entries(plan.vars).map(([name, value]) => `${name}=${short(value)}`),
      secrets: [plan.secret.name],
      bundle: `${bundle.bytes} bytes, ${bundle.gzipped} with gzip`,
    })
  },
})

export const edgeProxyCommands: readonly Command[] = [proxyCommand, deployCommand]

function short(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}
