import { mkdtemp } from 'node:fs/promises'
import { openEmbedded } from './embedded/open.js'
import { openEmbeddedBackend } from './backends/embedded.js'
const pool = await import(process.argv[2]!)
const bull = (await import('bullmq')).default
const ours = await openEmbeddedBackend(await openEmbedded({ dataDir: await mkdtemp('/tmp/zk-'), fsync: false }))
const db = await pool.openPglite(await mkdtemp('/tmp/zk-'), { start: ['-c', 'shared_buffers=16MB', '-c', 'min_wal_size=5MB', '-c', 'enable_seqscan=off'], initDbStartParams: ['--wal-segsize=1'] })
const session = new pool.PgliteSession(db), p = new pool.PglitePool(session); const c = await p.connect(); await bull.runMigrations(c); c.release()
const { Queue, Worker } = bull.withBackend(bull.createPostgresBackend)
async function run(label: string, queue: any, makeWorker: () => any) {
  const u0 = process.cpuUsage()
  for (let i = 0; i < 2000; i += 500) await queue.addBulk(Array.from({ length: 500 }, (_, n) => ({ name: 'j', data: { n } })))
  const u = process.cpuUsage(); const t = performance.now(); let n = 0
  const w = makeWorker()
  await new Promise<void>((res) => w.on('completed', () => { if (++n === 2000) res() }))
  const d = process.cpuUsage(u)
  console.log(label, Math.round(2000 / ((performance.now() - t) / 1000)), '/s, cpu ms', Math.round((d.user + d.system) / 1000))
  await w.close()
}
for (let r = 0; r < 4; r++) {
  await run('ours ', ours.makeQueue('b' + r, { defaultJobOptions: { removeOnComplete: { age: 86400 } } }), () => ours.makeWorker('b' + r, async () => undefined, { concurrency: 10 }))
  await run('spike', new Queue('b' + r, { connection: p, defaultJobOptions: { removeOnComplete: { age: 86400 } } } as any), () => new Worker('b' + r, async () => undefined, { connection: p, concurrency: 10 } as any))
}
process.exit(0)
