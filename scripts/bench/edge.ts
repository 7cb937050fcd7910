import { Agent, request } from 'node:http'
import { createHeaders } from 'zin/signer'
import { testSecret } from '../../plugins/edge-proxy/testing/edge-client.js'
import { plainFolder, startProxy } from '../../plugins/edge-proxy/testing/proxy-process.js'
import type { BenchRow } from './row.js'

const rounds = 3
const secondsPerRound = 1
const clientCounts = [1, 8, 32, 256] as const

const statements = JSON.stringify({
  'item.byId': { sql: 'SELECT id, name FROM items WHERE id = ?', one: true, params: [{ name: 'id', type: 'int32' }] },
})

interface Work {
  readonly name: string
  readonly path: string
  /** The body of the n-th request. */
  body(n: number): unknown
}

const works: readonly Work[] = [
  { name: 'registered point SELECT', path: 'statement', body: (n) => ({ statementId: 'item.byId', params: [n % 1000] }) },
  { name: 'point SELECT as SQL', path: 'queryOne', body: (n) => ({ sql: 'SELECT id, name FROM items WHERE id = ?', params: [n % 1000] }) },
  { name: '1,000 rows', path: 'query', body: () => ({ sql: 'SELECT id, name FROM items' }) },
  { name: 'INSERT', path: 'exec', body: () => ({ sql: 'INSERT INTO log (at) VALUES (?)', params: [1] }) },
  {
    name: 'batch of 10 INSERTs',
    path: 'batch',
    body: () => ({ statements: Array(10).fill({ sql: 'INSERT INTO log (at) VALUES (?)', params: [1] }) }),
  },
]

/**
 * Measures signed requests per second through `zin proxy`, in workerd (D1 of miniflare, on disk) and in Node (SQLite), with 1 to 256 clients.
 * The local simulator does not predict the speed of Cloudflare. Requests are signed before their round starts.
 */
export async function benchEdge(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const runtime of ['workerd', 'node'] as const) {
    const folder = await plainFolder()
    const env = {
      EDGE_REMOTE_SECRET: testSecret,
      EDGE_REMOTE_MODE: 'sql',
      EDGE_STATEMENTS_JSON: statements,
      EDGE_RATE_PER_MINUTE: '0',
      EDGE_RATE_TOTAL_PER_MINUTE: '0',
    }
    const proxy = await startProxy(folder.path, ['--runtime', runtime], env)
    try {
      await proxy.client.call('exec', { sql: 'CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)' })
      await proxy.client.call('exec', { sql: 'CREATE TABLE log (id INTEGER PRIMARY KEY, at INTEGER)' })
      const fill =
        "INSERT INTO items (id, name) SELECT n, 'item ' || n FROM (WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 999) SELECT n FROM c)"
      const { status, text } = await proxy.client.call('exec', { sql: fill })
      if (status !== 200) throw new Error(text)
      for (const work of works)
        for (const clients of clientCounts) {
          const perSecond = await measure(proxy.client.url, work, clients)
          rows.push({
            name: `edge proxy in ${runtime}, ${work.name}, ${clients} ${clients === 1 ? 'client' : 'clients'}`,
            value: Math.round(perSecond),
            unit: 'req/s',
          })
        }
    } finally {
      await proxy.end('SIGTERM')
      await folder.remove()
    }
  }
  return rows
}

interface Signed {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Returns the median of several rounds. */
async function measure(url: string, work: Work, clients: number): Promise<number> {
  const found: number[] = []
  let most = 300
  for (let round = 0; round <= rounds; round++) {
    const requests = await Promise.all(Array.from({ length: most }, (_, index) => sign(url, work, index)))
    // One agent per round: while the next requests are signed, the server may close idle connections.
    const agent = new Agent({ keepAlive: true, maxSockets: clients })
    const started = performance.now()
    let next = 0
    let done = 0
    const isOver = (): boolean => next >= requests.length || performance.now() - started > secondsPerRound * 1000
    const loop = async (): Promise<void> => {
      while (!isOver()) {
        await send(agent, `${url}/svc/edge/${work.path}`, requests[next++] as Signed)
        done++
      }
    }
    await Promise.all(Array.from({ length: clients }, loop))
    const perSecond = done / ((performance.now() - started) / 1000)
    agent.destroy()
    // The first round warms up and shows how many requests a round needs.
    if (round > 0) found.push(perSecond)
    most = Math.ceil(perSecond * secondsPerRound * 1.3)
  }
  return found.toSorted((a, b) => a - b)[Math.floor(found.length / 2)] ?? 0
}

async function sign(url: string, { path, body }: Work, index: number): Promise<Signed> {
  const text = JSON.stringify(body(index))
  const headers = await createHeaders({ method: 'POST', url: `${url}/svc/edge/${path}`, body: text, keyId: 'bench', secret: testSecret })
  return { body: text, headers: { ...headers, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) } }
}

function send(agent: Agent, url: string, { headers, body }: Signed): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.on('error', reject)
      response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`))))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
