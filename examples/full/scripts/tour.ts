// npm run tour: uses the app as a client would, over HTTP.
//   npm run tour                  against BASE_URL, or HOST and PORT from the environment or .env (default http://127.0.0.1:7777)
//   npm run tour -- --start       starts the app first, on a free port, and stops it at the end
// Leaves only finished jobs behind, so it can be run repeatedly.
import { strict as assert } from 'node:assert'
import { type AppResponse, connect, type Tourist } from './tourist.js'

const jobs = 100
// A separate worker with the same processor as the app's `email-sender`.
const worker = {
  name: 'tour-email-sender',
  queueName: 'tour-emails',
  concurrency: 10,
  processor: 'processors/email-sender.ts',
  infrastructure: { persistence: { driver: 'db' } },
}
const path = `/api/workers/${worker.name}`

async function tour(app: Tourist): Promise<void> {
  const user = await app.step('log in as demo@example.com', async () => {
    const response = await app.send({
      method: 'POST',
      path: '/auth/login',
      body: { email: 'demo@example.com', password: app.env('DEMO_PASSWORD') },
    })
    expectStatus(response, 200)
    return response.body as { jwt: string; deviceId: string; deviceSecret: string }
  })
  const device = { keyId: user.deviceId, secret: user.deviceSecret }
  app.atEnd('log out', async () => {
    expectStatus(await app.signed({ method: 'POST', path: '/auth/logout', jwt: user.jwt }, device), 200)
  })

  const me = { method: 'GET', path: '/api/me', jwt: user.jwt }
  const headers = await app.step('a signed request is accepted', async () => {
    const signature = await app.sign(me, device)
    const response = await app.send({ ...me, headers: signature })
    expectStatus(response, 200)
    assert.equal((response.body as { email: string }).email, 'demo@example.com')
    return signature
  })
  await app.step('the same request is refused when it is replayed', async () => expectStatus(await app.send({ ...me, headers }), 401))
  await app.step('the token without a signature is refused', async () => expectStatus(await app.send(me), 401))

  // Management requests are signed with the secret shared by the app and its operators.
  const operator = { keyId: 'tour', secret: app.env('BULLETPROOF_SIGNING_SECRET') }
  const manage = (method: string, target: string, body?: object): Promise<AppResponse> =>
    app.operate({ method, path: target, ...(body ? { body } : {}) }, operator)
  await app.step('remove what an earlier tour left behind', async () => {
    const { status } = await manage('DELETE', path)
    assert.ok(status === 200 || status === 204 || status === 404, `expected 200, 204 or 404, got ${status}`)
  })
  await app.step(`create the worker ${worker.name}`, async () => expectStatus(await manage('POST', '/api/workers', worker), 201))
  app.atEnd('delete the worker', async () => {
    const { status } = await manage('DELETE', path)
    assert.ok(status === 200 || status === 204, `expected 200 or 204, got ${status}`)
  })
  await app.step('start it', async () => {
    expectStatus(await manage('POST', `${path}/start`), 200)
    assert.equal(await stateOf(manage), 'running')
  })

  const before = await metricsOf(manage)
  await app.step(`enqueue ${jobs} jobs`, async () => {
    for (let n = 1; n <= jobs; n += 1) {
      const response = await manage('POST', `${path}/jobs`, { data: { to: `reader${n}@example.com`, subject: `Letter ${n}` } })
      expectStatus(response, 202)
    }
  })
  await app.step('all jobs complete', () =>
    app.eventually(async () => {
      const { completed, failed } = await metricsOf(manage)
      assert.equal(failed, before.failed, 'jobs failed')
      assert.equal(completed - before.completed, jobs, 'completed jobs')
    }),
  )
  await app.step('stop it', async () => {
    expectStatus(await manage('POST', `${path}/stop`), 200)
    assert.equal(await stateOf(manage), 'stopped')
  })
}

type Manage = (method: string, target: string) => Promise<AppResponse>

async function stateOf(manage: Manage): Promise<string> {
  const response = await manage('GET', `${path}/status`)
  expectStatus(response, 200)
  return (response.body as { status: { state: string } }).status.state
}

async function metricsOf(manage: Manage): Promise<{ completed: number; failed: number }> {
  const response = await manage('GET', `${path}/status`)
  expectStatus(response, 200)
  return (response.body as { status: { metrics: { completed: number; failed: number } } }).status.metrics
}

function expectStatus(response: AppResponse, status: number): void {
  assert.equal(response.status, status, `expected status ${status}, got ${response.status} ${JSON.stringify(response.body)}`)
}

const app = await connect(process.argv.includes('--start'))
process.exitCode = await app.run(tour)
