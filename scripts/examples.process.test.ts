import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseEnv } from 'node:util'
import { createHeaders } from 'zin/signer'
import { startProxy } from '../plugins/edge-proxy/testing/proxy-process.js'
import { type AppProcess, type Env, linkPackages, ownTest, runCli, runNode, runShell, startApp, temporaryFolder } from './app-process.js'
import { freePort } from './testing/free-port.js'

async function newApp(example: string, parent: string): Promise<string> {
  const { code, stdout, stderr } = await runCli(['new', 'app', '--example', example], parent)
  assert.equal(code, 0, stdout + stderr)
  const folder = join(parent, 'app')
  linkPackages(folder)
  return folder
}

/** Call it after the other tests of an app. */
function writesOnlyIgnored(example: string, folder: () => string): void {
  it('has written nothing that its .gitignore does not list', () => {
    const lines = readFileSync(join(folder(), '.gitignore'), 'utf8').split('\n')
    const known = [...readdirSync(join('examples', example)), '.editorconfig', '.github', ...lines.map((line) => line.replace(/\/$/, ''))]
    assert.deepEqual(
      readdirSync(folder()).filter((name) => !known.includes(name)),
      [],
    )
  })
}

// The example custom-plugin is tested with the packed package, see pack.process.test.ts.
describe('an app created by zin new --example minimal', () => {
  const temporary = temporaryFolder()
  let folder = ''
  before(async () => {
    folder = await newApp('minimal', temporary.path)
  })
  after(() => temporary.remove())

  it('passes its own tests', async () => {
    const { code, stdout, stderr } = await runNode(ownTest(folder), folder)
    assert.equal(code, 0, stdout + stderr)
  })

  it('starts, responds, and ends cleanly on SIGTERM', async () => {
    const app = await startApp(folder, { probe: '/hello/ada' })
    assert.equal(await app.end('SIGTERM'), 0, app.output())
  })

  writesOnlyIgnored('minimal', () => folder)
})

describe('an app created by zin new --example web-api', () => {
  const temporary = temporaryFolder()
  let folder = ''
  before(async () => {
    folder = await newApp('web-api', temporary.path)
  })
  after(() => temporary.remove())

  it('passes its own tests', async () => {
    const { code, stdout, stderr } = await runNode(ownTest(folder), folder)
    assert.equal(code, 0, stdout + stderr)
  })

  it('does what its README says, command by command', async () => {
    const app = await startApp(folder)
    try {
      const steps = [...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, step = '']) => step)
      assert.equal(steps.length, 9)
      const zin = `'${process.execPath}' '${resolve('dist/cli.js')}'`
      const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { scripts: { types: string } }
      const types = scripts.types.replace('zin ', `${zin} `)
      const npm = `npx() { shift; ${zin} "$@"; }\nnpm() { ${types} --check; }\n`
      const script = (npm + steps.join('')).replaceAll(/http:\/\/(localhost|127\.0\.0\.1):7777/g, app.url)
      const { code, stdout, stderr } = await runShell(script, folder, { PORT: new URL(app.url).port })
      assert.equal(code, 0, stdout + stderr)
      assert.match(stdout, /"status":"shipped"/)
    } finally {
      assert.equal(await app.end('SIGTERM'), 0, app.output())
    }
  })

  writesOnlyIgnored('web-api', () => folder)
})

describe('an app created by zin new --example edge', () => {
  const temporary = temporaryFolder()
  let folder = ''
  before(async () => {
    folder = await newApp('edge', temporary.path)
  })
  after(() => temporary.remove())

  it('passes its own tests', async () => {
    const { code, stdout, stderr } = await runNode(ownTest(folder), folder)
    assert.equal(code, 0, stdout + stderr)
  })

  it('keeps its tables behind the proxy with which it shares its .env', async () => {
    const proxy = await startProxy(folder, ['--statements', 'statements.json'])
    const env = { EDGE_REMOTE_URL: proxy.client.url }
    const app = await startApp(folder, { env })
    const headers = { 'content-type': 'application/json' }
    const put = await fetch(`${app.url}/notes/1`, { method: 'PUT', headers, body: '{"text":"hello"}' })
    assert.equal(put.status, 200, await put.text())
    assert.deepEqual(await (await fetch(`${app.url}/notes`)).json(), { notes: [{ id: '1', text: 'hello' }] })
    const report = await runNode(['--import', 'tsx', 'scripts/report.ts', 'hell'], folder, env)
    assert.equal(report.stdout, '1 notes\n1: hello\n', report.stderr)
    assert.equal(await app.end('SIGTERM'), 0, app.output())
    assert.equal(await proxy.end('SIGTERM'), 0, proxy.output())
  })

  it('has a proxy that can be deployed: the dry run prints what would be deployed', async () => {
    const env = { EDGE_DATABASE_ID: '2d3c1f6e-0b5a-4f0e-9c3a-5f0f7f1c9a11' }
    const { code, stdout, stderr } = await runCli(['deploy', '--dry-run', '--statements', 'statements.json'], folder, env)
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /name +notes-edge\n[\s\S]*DB: D1 database notes[\s\S]*secrets +EDGE_REMOTE_SECRET/)
  })

  writesOnlyIgnored('edge', () => folder)
})

describe('an app created by zin new --example microservice', () => {
  const temporary = temporaryFolder()
  let folder = ''
  after(() => temporary.remove())

  it('passes its tour: one trace through gateway, services and job, and a killed service that is restarted', async () => {
    folder = await newApp('microservice', temporary.path)
    // The ports of the example may be in use here.
    for (const place of ['people/users', 'shop/orders']) {
      const file = join(folder, 'src/services', place, 'service.config.json')
      writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), port: await freePort() }))
    }
    const { code, stdout, stderr } = await runNode(['--import', 'tsx', 'scripts/tour.ts'], folder)
    assert.equal(code, 0, stdout + stderr)
  })

  writesOnlyIgnored('microservice', () => folder)
})

describe('an app created by zin new --example full, on the embedded store', () => {
  const temporary = temporaryFolder()
  const dataIn = (name: string): Env => ({ ZIN_DATA_DIR: join(temporary.path, name) })
  const env = dataIn('data')
  let folder = ''
  let started: Promise<AppProcess> | undefined
  before(async () => {
    folder = await newApp('full', temporary.path)
  })
  after(async () => {
    const app = await started
    const code = await app?.end('SIGTERM')
    temporary.remove()
    if (app !== undefined) assert.equal(code, 0, app.output())
  })

  /** The app on the data in `env`, which several tests use. */
  function running(): Promise<AppProcess> {
    started ??= startApp(folder, { env })
    return started
  }

  /** A management call, signed with the shared secret. */
  async function manage(app: AppProcess, method: string, path: string, body?: string): Promise<number> {
    const secret = parseEnv(readFileSync(join(folder, '.env'), 'utf8')).BULLETPROOF_SIGNING_SECRET ?? ''
    const url = `${app.url}${path}`
    const content = body === undefined ? {} : { body, contentType: 'application/json' }
    const timestamp = Math.ceil(Date.now() / 1000) * 1000
    const headers = await createHeaders({ profile: 'rfc9421', method, url, keyId: 'test', secret, timestamp, ...content })
    return (await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })).status
  }

  it('has generated keys, all different', () => {
    const env = Object.entries(parseEnv(readFileSync(join(folder, '.env'), 'utf8')))
    const generated = env.map(([, value]) => value ?? '').filter((value) => value.startsWith('base64:'))
    assert.ok(generated.length > 0 && env.every(([, value]) => value !== 'generate'))
    assert.equal(new Set(generated).size, generated.length)
  })

  it('passes its own tests', async () => {
    const { code, stdout, stderr } = await runNode(ownTest(folder), folder)
    assert.equal(code, 0, stdout + stderr)
  })

  it('passes the tour twice', async () => {
    const { url } = await running()
    for (const _round of [1, 2]) {
      const { code, stdout, stderr } = await runNode(['--import', 'tsx', 'scripts/tour.ts'], folder, { BASE_URL: url })
      assert.equal(code, 0, stdout + stderr)
    }
  })

  it('has a compose file whose app, Prometheus and Grafana refer to each other correctly', () => {
    const files = 'plugins/observability'
    const compose = readFileSync('examples/full/compose.yml', 'utf8')
    const mounts = [...compose.matchAll(/- \.\/node_modules\/zin\/(\S+?):(\S+?):ro/g)].map(([, from = '', to = '']) => ({ from, to }))
    assert.deepEqual(
      mounts.map(({ from }) => existsSync(from)),
      [true, true, true],
    )
    const folder = /path: (\S+)/.exec(readFileSync(`${files}/grafana/provisioning/dashboards/zin.yml`, 'utf8'))?.[1] ?? ''
    assert.ok(mounts.some(({ to }) => to.startsWith(`${folder}/`)))
    const names = new Set([...compose.matchAll(/^ {2}(\w+):$/gm)].map(([, name]) => name))
    for (const file of ['prometheus/prometheus.yml', 'grafana/provisioning/datasources/prometheus.yml']) {
      const [, name] = /(?:"|http:\/\/)(\w+):\d+/.exec(readFileSync(`${files}/${file}`, 'utf8')) ?? []
      assert.ok(names.has(name), file)
    }
  })

  it('passes the attack corpus, and refuses a second process on its data, naming the first', async () => {
    const app = await running()
    const login = ['--email', 'demo@example.com', '--password-env', 'DEMO_PASSWORD']
    const attack = await runCli(['auth:attack', app.url, ...login], folder, env)
    assert.equal(attack.code, 0, attack.stdout + attack.stderr)
    const second = await runCli(['start'], folder, { ...env, PORT: '0' })
    assert.notEqual(second.code, 0)
    assert.match(second.stdout + second.stderr, new RegExp(`\\b${app.pid}\\b`))
    assert.equal(await manage(app, 'GET', '/api/workers'), 200)
  })

  it('keeps its state over a restart and over kill -9', async () => {
    const worker = JSON.stringify({
      name: 'kept',
      queueName: 'kept',
      processor: 'processors/email-sender.ts',
      infrastructure: { persistence: { driver: 'db' } },
    })
    // A killed process counts as alive for three heartbeats.
    const shortLease = { ...dataIn('kept'), CLUSTER_HEARTBEAT_MS: '1000' }
    const start = () => startApp(folder, { env: shortLease })
    const first = await start()
    assert.equal(await manage(first, 'POST', '/api/workers', worker), 201)
    assert.equal(await first.end('SIGTERM'), 0, first.output())
    const second = await start()
    assert.equal(await manage(second, 'GET', '/api/workers/kept/status'), 200)
    await second.end('SIGKILL')
    const last = await start()
    assert.equal(await manage(last, 'GET', '/api/workers/kept/status'), 200)
    assert.equal(await manage(last, 'DELETE', '/api/workers/kept'), 200)
    assert.equal(await last.end('SIGTERM'), 0, last.output())
  })

  writesOnlyIgnored('full', () => folder)
})
