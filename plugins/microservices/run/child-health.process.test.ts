import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { appFolder } from '../../../scripts/testing/app-folder.js'
import { cleanUp } from '../../../scripts/testing/clean-up.js'
import { eventually } from '../../../scripts/testing/eventually.js'
import { freePort } from '../../../scripts/testing/free-port.js'
import type { ServiceView } from '../contract.js'
import { moduleText, serve } from '../testing/servers.js'

const config = `import { defineConfig } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { decisions } from 'zin/plugins/decisions'
import { microservices } from 'zin/plugins/microservices'
import { ops } from 'zin/plugins/ops'
const options = JSON.parse(process.env.OPTIONS)
export default defineConfig({ plugins: [cluster(), ops(), decisions(), microservices({ processes: 'own', ...options })] })
`

/** Its health check asks a server of the test. */
const watchedModule = moduleText(`{
  method: 'GET', path: '/watched', summary: 'Health', probe: true,
  handler: async () => void (await fetch(process.env.WATCHED_URL + '/orders-' + context.port)),
},`)

/** `/ask` responds with what the service in the header `x-service` responds. */
const gatewayModule = moduleText(`{
  method: 'GET', path: '/ask', summary: 'Ask',
  handler: async ({ request }) => ({
    data: (await context.services.callService(request.headers['x-service'], { path: request.headers['x-path'] })).data,
  }),
},`)

/** Sends messages of its own to the app, which ignores them. */
const usersModule = `for (const odd of ['ready', { type: 'ready' }, { type: 'log', level: 'none' }, { zinService: { type: 'log' } }, null, 1, { cmd: 'NODE_HANDLE_ACK' }]) process.send(odd)
${moduleText(`{ method: 'GET', path: '/fail', summary: 'Fail', handler: () => { throw new Error('it fails') } },`)}`

interface Answer {
  readonly code?: string
  readonly data?: unknown
}

async function start(
  t: TestContext,
  modules: Readonly<Record<string, string>>,
  options: object,
  env: Readonly<Record<string, string>> = {},
) {
  const later = cleanUp(t)
  const ports = new Map<string, number>()
  const files: Record<string, string> = { 'zin.config.mjs': config }
  for (const [name, text] of Object.entries(modules)) {
    ports.set(name, await freePort(3))
    const healthCheck = text === watchedModule ? '/watched' : '/health'
    files[`src/services/a/${name}/service.config.json`] = JSON.stringify({ name, port: ports.get(name), healthCheck })
    files[`src/services/a/${name}/index.mjs`] = text
  }
  const app = await appFolder(files)
  later(() => app.remove())
  const port = String(await freePort())
  const running = await app.start({
    MICROSERVICES: 'true',
    NODE_ENV: 'development',
    PORT: port,
    OPTIONS: JSON.stringify(options),
    ...env,
  })
  return {
    said: running.said,
    list: async () => ((await (await fetch(`${running.url}/api/services`)).json()) as { services: readonly ServiceView[] }).services,
    change: async (service: string, action: 'start' | 'stop') => {
      const { status } = await fetch(`${running.url}/api/services/${service}/${action}`, { method: 'POST' })
      assert.equal(status, 200)
    },
    /** Calls a service from the child process of the gateway. */
    ask: async (service: string, path: string): Promise<Answer> => {
      const url = `http://127.0.0.1:${ports.get('gateway')}/ask`
      return (await (await fetch(url, { headers: { 'x-service': service, 'x-path': path } })).json()) as Answer
    },
  }
}

describe('with services in child processes', () => {
  it('only the app checks the health of an instance, however many children can call it', async (t) => {
    const checks = new Map<string, number>()
    // It never responds, so each process that checks an instance has sent it exactly one check.
    const watched = await serve(t, ({ url = '' }) => void checks.set(url, (checks.get(url) ?? 0) + 1))
    let others = 0
    const other = await serve(t, (_request, response) => void response.end(String(++others)))
    const services = {
      orders: { instances: 3 },
      bills: { url: watched.url, healthCheck: '/bills' },
      mails: { url: watched.url, healthCheck: '/mails' },
      other: { url: other.url },
    }
    const options = { services, health: { intervalMs: 10, timeoutMs: 60_000 } }
    await start(t, { orders: watchedModule }, options, { WATCHED_URL: watched.url })
    await eventually('every instance is checked', () => checks.size === 5)
    const before = others
    await eventually('further checks were sent', () => others >= before + 50)
    assert.deepEqual([...checks.values()], [1, 1, 1, 1, 1])
  })

  it('a child calls no instance that the app finds failing, until it passes again', async (t) => {
    const health = { status: 200 }
    const first = await serve(t, ({ url }, response) => {
      response.writeHead(url === '/health' ? health.status : 200, { 'content-type': 'text/plain' }).end('first')
    })
    const second = await serve(t, (_request, response) => void response.setHeader('content-type', 'text/plain').end('second'))
    const { ask, change, said } = await start(
      t,
      { gateway: gatewayModule },
      { services: { pair: { url: [first.url, second.url] } }, health: { intervalMs: 20, failAfter: 2, passAfter: 2 } },
    )
    const asked = async (times: number): Promise<readonly unknown[]> => {
      const answers: unknown[] = []
      for (let call = 0; call < times; call++) answers.push((await ask('pair', '/')).data)
      return answers
    }
    assert.deepEqual((await asked(2)).toSorted(), ['first', 'second'])
    health.status = 500
    await said(/pair-1 is lost/)
    await eventually('the child skips it', async () => !(await asked(2)).includes('first'))
    assert.deepEqual(await asked(4), ['second', 'second', 'second', 'second'])
    await change('gateway', 'stop')
    await change('gateway', 'start')
    assert.deepEqual(await asked(4), ['second', 'second', 'second', 'second'], 'a child that starts now knows')
    health.status = 200
    await eventually('the child uses it again', async () => (await asked(2)).includes('first'))
  })

  it('a child follows restarts and stops, and keeps its own circuits in between', async (t) => {
    const never = 3_600_000
    // One failed call opens it.
    const circuit = { minimumCalls: 1, failureRatio: 0.01, openMs: never, maxOpenMs: never }
    const { ask, change, list } = await start(t, { gateway: gatewayModule, users: usersModule }, { circuit })
    const pid = async () => ((await ask('users', '/who')).data as { readonly pid: number } | undefined)?.pid
    const users = async () => (await list()).find(({ name }) => name === 'users')?.instances[0]
    await eventually('the child calls it', async () => (await pid()) !== undefined)
    const firstPid = await pid()
    assert.equal((await users())?.pid, firstPid)
    await ask('users', '/fail')
    assert.deepEqual([(await ask('users', '/who')).code, (await users())?.circuit], ['SERVICE_CIRCUIT_OPEN', 'closed'])
    process.kill(firstPid as number, 'SIGKILL')
    await eventually('the child calls the new process', async () => ![undefined, firstPid].includes(await pid()))
    await change('users', 'stop')
    await eventually('the child knows that it is stopped', async () => (await ask('users', '/who')).code === 'SERVICE_NOT_RUNNING')
    await change('users', 'start')
    await eventually('the child calls it again', async () => (await pid()) !== undefined)
  })
})
