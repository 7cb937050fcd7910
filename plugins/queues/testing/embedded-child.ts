/** A child process for the tests of the embedded store: adds jobs, processes them, and prints what was acknowledged. */
import { once } from 'node:events'
import { join } from 'node:path'
import { createTestHost } from 'zin/testing'
import { queues, queuesService } from '../index.js'

const [rootDir = '', mode = ''] = process.argv.slice(2)
const print = (text: string): void => void process.stdout.write(`${text}\n`)

try {
  const host = await createTestHost({ plugins: [queues()], dataDir: join(rootDir, '.zin', 'data') })
  const service = host.service(queuesService)
  print('open')
  if (mode === 'work') {
    await once(process.stdin, 'data')
    service.worker('crash', async (job) => job.name, { concurrency: 5 }).on('completed', (job) => print(`completed ${job.name}`))
    for (let i = 0; ; i++) {
      await service.add('crash', `job-${i}`, {})
      print(`added job-${i}`)
    }
  }
} catch (error) {
  print(`error ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
