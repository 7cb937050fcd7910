// npm run tour: starts the app, orders something, and follows one trace through gateway, services and job.
import { strict as assert } from 'node:assert'
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const cli = fileURLToPath(new URL('dist/cli.js', import.meta.resolve('zin/package.json')))
const child = spawn(process.execPath, [cli, 'start'], {
  env: { ...process.env, PORT: '0', LOG_FORMAT: 'json', LOG_LEVEL: 'info' },
  stdio: ['ignore', 'pipe', 'inherit'],
})
const exited = once(child, 'exit')
let output = ''
child.stdout.on('data', (chunk: Buffer) => {
  output += chunk.toString()
})

/** Waits until the output of the app matches a pattern. */
async function said(pattern: RegExp): Promise<RegExpExecArray> {
  for (const until = Date.now() + 60_000; Date.now() < until; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const found = pattern.exec(output)
    if (found !== null) return found
    if (child.exitCode !== null) break
  }
  throw new Error(`the app did not print ${pattern}:\n${output}`)
}

try {
  const url = (await said(/(http:\/\/127\.0\.0\.1:\d+)/))[1] ?? ''
  for (const until = Date.now() + 60_000; !(await fetch(`${url}/health/ready`).catch(() => undefined))?.ok; ) {
    if (Date.now() > until) throw new Error(`the app did not become ready:\n${output}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const { services } = (await (await fetch(`${url}/api/services`)).json()) as {
    services: { name: string; state: string; instances: { url: string; pid?: number }[] }[]
  }
  assert.deepEqual(
    services.map(({ name, state }) => `${name} ${state}`),
    ['orders running', 'users running'],
  )
  console.log('orders and users are running, users in a separate process')

  const users = services.find(({ name }) => name === 'users')?.instances[0]
  assert.ok(users?.pid !== undefined && users.pid !== child.pid)
  assert.equal((await fetch(`${users.url}/users/ada`)).status, 401)
  console.log('users refuses a caller without a token')

  await promisify(execFile)(process.execPath, [cli, 'service:types', '--out', 'clients', '--check'])
  console.log('the typed clients match the services')

  const traceId = randomBytes(16).toString('hex')
  const response = await fetch(`${url}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    body: JSON.stringify({ user: 'ada' }),
  })
  const order = (await response.json()) as { user: { name: string }; traceId: string }
  assert.deepEqual([response.status, order.user?.name, order.traceId], [200, 'Ada', traceId], JSON.stringify(order))
  console.log('gateway, orders and users handled one order in one trace')

  const line = await said(/\{[^\n]*wrote a receipt for Ada[^\n]*\}/)
  assert.equal((JSON.parse(line[0]) as { traceId: string }).traceId, traceId)
  console.log('the job wrote the receipt in the same trace')

  process.kill(users.pid, 'SIGKILL')
  await said(/users-1 is lost/)
  for (const until = Date.now() + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const again = await fetch(`${url}/orders`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"user":"ada"}' })
    if (again.ok) break
    if (Date.now() > until) throw new Error('users was not restarted')
  }
  console.log('users was killed and restarted')
} finally {
  child.kill('SIGTERM')
}
const [code] = await exited
assert.equal(code, 0, output)
console.log('the app has exited, and so have its services')
