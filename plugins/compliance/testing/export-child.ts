// An app that exports a subject with many large jobs to a client that reads it in pieces. Prints the number of jobs, the bytes and the end.
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'
import { createTestHost } from 'zin/testing'
import { compliance } from '../index.js'

const { APP_ENV = '{}', JOBS = '1' } = process.env
const host = await createTestHost({
  plugins: [database(), kv(), cluster(), queues(), ops(), workers(), compliance({ subjects: { letters: ['user'] } })],
  env: { ...(JSON.parse(APP_ENV) as Record<string, string>), WORKER_GDPR: 'true' },
  listen: true,
})
const service = host.service(queuesService)
for (let i = 0; i < Number(JOBS); i++) await service.add('letters', 'letter', { user: 'ann', text: `${i}`.padEnd(900_000, 'x') })
const response = await fetch(`${host.url}/api/compliance/subjects/ann/export`)
let [bytes, end] = [0, '']
try {
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    end = (end + Buffer.from(chunk).toString('latin1')).slice(-100)
  }
} catch (error) {
  process.stderr.write(host.logText())
  throw error
}
process.stdout.write(JSON.stringify({ status: response.status, bytes, end }))
await host.stop()
