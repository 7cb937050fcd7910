import Koa from 'koa'
import { HttpApp } from '../../core/http/app.js'
import { createLogger } from '../../core/log/logger.js'
import { systemClock } from '../../core/util/clock.js'

// A server for bench/http.ts: `bare`, `zin`, or `logged`, which also writes a line per request. It prints its port and serves until its parent ends it.

const answer = (): object => ({ status: 'alive', timestamp: new Date().toISOString(), uptime: process.uptime() })

async function startBare(): Promise<number> {
  const koa = new Koa({ env: 'production' })
  koa.use((ctx) => {
    if (ctx.method === 'GET' && ctx.path === '/health/live') ctx.body = answer()
  })
  return new Promise((resolve) => {
    const server = koa.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}

async function startZin(logRequests: boolean): Promise<number> {
  // Logs as in production, but to /dev/null, to measure Zin rather than the disk.
  const log = createLogger({ level: 'info', channel: 'file', format: 'json', name: 'bench', destination: '/dev/null' })
  const app = new HttpApp({
    log,
    clock: systemClock,
    production: true,
    bodyLimit: 1024 * 1024,
    trustedProxies: 0,
    allowedHosts: ['127.0.0.1'],
    info: { title: 'bench', version: '1.0.0' },
    logRequests,
    onError: () => undefined,
    transformErrorBody: { active: false, call: async (body) => body },
    requestEnd: { active: false, call: () => undefined },
  })
  app.addRoute('health', { method: 'GET', path: '/health/live', summary: 'Alive', probe: true, handler: answer })
  app.addRoute('bench', { method: 'GET', path: '/hello', summary: 'A route with all phases', handler: answer })
  app.compile()
  // Async context tracking slows every promise of a process from its first use on, so it must be in use while measuring.
  await app.inject({ path: '/hello' })
  return (await app.listen({ host: '127.0.0.1', port: 0 })).port
}

process.on('disconnect', () => process.exit())
process.send?.(await (process.argv[2] === 'bare' ? startBare() : startZin(process.argv[2] === 'logged')))
