import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { copyExample, runCli, temporaryFolder } from '../app-process.js'
import { packInto } from '../pack.js'
import { freePort } from '../testing/free-port.js'
import { median } from './rounds.js'
import { type BenchRow, below } from './row.js'

const runs = 7
const idleMs = 1_000

/** What a new user gets: the size of a production install, and the boot and memory of one route, beside Fastify with the same route. */
export async function benchFirstDay(): Promise<readonly BenchRow[]> {
  const temporary = temporaryFolder()
  try {
    const zin = join(temporary.path, 'zin')
    const fastify = join(temporary.path, 'fastify')
    await installZin(temporary.path, zin)
    await installFastify(fastify)
    const measured = { zin: [] as Boot[], fastify: [] as Boot[] }
    // In turns, so that a busy moment of the machine hits both.
    for (let run = 0; run < runs; run += 1) {
      measured.zin.push(await boot(zin, ['node_modules/zin/dist/cli.js', 'start']))
      measured.fastify.push(await boot(fastify, ['server.mjs']))
    }
    const of = (peer: 'zin' | 'fastify', field: keyof Boot): number => median(measured[peer].map((one) => one[field]))
    return [
      below('packages of a production install, zin', packagesIn(zin), '', 61),
      { name: 'packages of a production install, fastify', value: packagesIn(fastify), unit: '' },
      below('size of a production install, zin', megabytesOf(join(zin, 'node_modules')), 'MB', 45),
      { name: 'size of a production install, fastify', value: megabytesOf(join(fastify, 'node_modules')), unit: 'MB' },
      below('boot to the first response, zin', of('zin', 'ms'), 'ms', 350),
      { name: 'boot to the first response, fastify', value: of('fastify', 'ms'), unit: 'ms' },
      below('resident memory when idle, zin', of('zin', 'mb'), 'MB', 90),
      { name: 'resident memory when idle, fastify', value: of('fastify', 'mb'), unit: 'MB' },
    ]
  } finally {
    temporary.remove()
  }
}

/** The example minimal, built, and installed as in production. */
async function installZin(temporary: string, target: string): Promise<void> {
  const source = copyExample('minimal', join(temporary, 'source'))
  const { code, stderr } = await runCli(['build'], source)
  if (code !== 0) throw new Error(stderr)
  await mkdir(target)
  execFileSync('cp', ['-r', join(source, 'build'), target])
  install(target, { zin: `file:${packInto(temporary)}` })
}

async function installFastify(target: string): Promise<void> {
  await mkdir(target)
  const { devDependencies } = JSON.parse(readFileSync(resolve('package.json'), 'utf8')) as { devDependencies: Record<string, string> }
  writeFileSync(
    join(target, 'server.mjs'),
    `import Fastify from 'fastify'
    const app = Fastify()
    const params = { type: 'object', properties: { name: { type: 'string', maxLength: 50 } } }
    const response = { 200: { type: 'object', properties: { hello: { type: 'string' } } } }
    app.get('/hello/:name', { schema: { params, response } }, async (request) => ({ hello: request.params.name }))
    await app.listen({ port: Number(process.env.PORT) })`,
  )
  install(target, { fastify: devDependencies.fastify ?? '' })
}

function install(folder: string, dependencies: Readonly<Record<string, string>>): void {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'measured', private: true, type: 'module', dependencies }))
  execFileSync('npm', ['install', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'], { cwd: folder })
}

function packagesIn(folder: string): number {
  const { packages } = JSON.parse(readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8')) as { packages: object }
  return Object.keys(packages).length
}

/** Blocks on disk, as `du` counts them. */
function megabytesOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => statSync(join(folder, name)))
  return files.reduce((sum, { blocks }) => sum + blocks * 512, 0) / 2 ** 20
}

interface Boot {
  readonly ms: number
  readonly mb: number
}

async function boot(folder: string, args: readonly string[]): Promise<Boot> {
  const port = await freePort()
  const startedAt = performance.now()
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: `${port}`, NODE_ENV: 'production' },
    stdio: 'ignore',
  })
  try {
    while (!(await responds(port))) {
      if (performance.now() - startedAt > 30_000) throw new Error(`${args.join(' ')} did not respond`)
      await delay(2)
    }
    const ms = performance.now() - startedAt
    await delay(idleMs)
    return { ms, mb: residentMb(child) }
  } finally {
    child.kill()
  }
}

async function responds(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/hello/ada`).then(
    ({ ok }) => ok,
    () => false,
  )
}

function residentMb(child: ChildProcess): number {
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  return Number(kb) / 1024
}
