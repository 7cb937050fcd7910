import { createHash, createHmac, createSecretKey, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import jsonwebtoken from 'jsonwebtoken'
import Koa from 'koa'
import type { Plugin } from 'zin'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { login } from 'zin/plugins/login'
import { observability } from 'zin/plugins/observability'
import { ops } from 'zin/plugins/ops'
import { plainEnv } from '../../core/config/read-settings.js'
import { Host } from '../../core/host/host.js'
import type { OwnedLogger } from '../../core/log/logger.js'

// A server for bench/auth.ts (`bare`, `memory` or `redis <url>`) or bench/observability.ts (`metrics`, `traces-all` or
// `traces-some <endpoint>`). It sends its parent the port and the signing credentials, and serves until the parent ends it.

/** The port, and the credentials with which a client signs requests. */
interface Started {
  readonly port: number
  /** Tokens of one user, each with a unique id. */
  readonly tokens: readonly string[]
  readonly deviceId: string
  readonly secret: string
}

const windowMs = 60_000
/** More than the plugin jwt caches. */
const tokenCount = 12_000
const user = { sub: '7', email: 'ada@example.com', role: 'admin' }

/** The same checks, written by hand in the shortest correct way, as an app would do without the framework. */
async function startBare(): Promise<Started> {
  const deviceId = 'dev_bench'
  const secret = randomBytes(32).toString('base64url')
  const key = createSecretKey(Buffer.from(secret))
  const jwtKey = createSecretKey(randomBytes(32))
  const names = { issuer: 'bench', audience: 'bench' }
  const jwtOptions = { ...names, algorithms: ['HS256' as const] }
  const tokens = Array.from({ length: tokenCount }, () =>
    jsonwebtoken.sign({ ...user, deviceId }, jwtKey, { ...names, expiresIn: 3600, jwtid: randomUUID() }),
  )
  const devices = new Map([[deviceId, { key, owner: user.sub }]])
  const revoked = new Set<string>()
  const nonces = new Map<string, number>()
  setInterval(() => {
    for (const [nonce, until] of nonces) if (until < Date.now()) nonces.delete(nonce)
  }, 30_000)

  const koa = new Koa({ env: 'production' })
  koa.use(async (ctx) => {
    const { headers, method = '' } = ctx.req
    const refuse = (): void => {
      ctx.status = 401
      ctx.body = { error: 'Unauthorized' }
    }
    let claims: jsonwebtoken.JwtPayload
    try {
      claims = jsonwebtoken.verify(headers.authorization?.slice(7) ?? '', jwtKey, jwtOptions) as jsonwebtoken.JwtPayload
    } catch {
      return refuse()
    }
    const [keyId, timestamp, nonce, bodyHash, signature] = ['key-id', 'timestamp', 'nonce', 'body-sha256', 'signature'].map(
      (name) => headers[`x-sig-${name}`] as string,
    ) as [string, string, string, string, string]
    const device = devices.get(keyId)
    if (device === undefined || device.owner !== claims.sub || revoked.has(claims.jti ?? '')) return refuse()
    if (headers['x-sig-device-id'] !== keyId || claims.deviceId !== keyId) return refuse()
    if (Math.abs(Date.now() - Number(timestamp)) > windowMs) return refuse()
    const mark = (ctx.req.url ?? '').indexOf('?')
    const [path, search] = mark < 0 ? [ctx.req.url, ''] : [ctx.req.url?.slice(0, mark), ctx.req.url?.slice(mark)]
    const canonical = `${method}\n${path}\n${search}\n${timestamp}\n${nonce}\n${bodyHash}`
    const mac = createHmac('sha256', device.key).update(canonical).digest()
    if (!timingSafeEqual(mac, Buffer.from(signature, 'hex'))) return refuse()
    const body = method === 'POST' ? await read(ctx.req) : Buffer.alloc(0)
    if (createHash('sha256').update(body).digest('hex') !== bodyHash) return refuse()
    const id = `${keyId}:${nonce}`
    if (nonces.has(id)) return refuse()
    nonces.set(id, Number(timestamp) + windowMs)
    ctx.set('Cache-Control', 'no-store')
    if (method === 'GET' && path === '/api/me')
      ctx.body = { id: claims.sub, email: claims.email, role: claims.role, deviceId: claims.deviceId }
    else if (method === 'POST' && path === '/api/notes') ctx.body = { length: JSON.parse(body.toString()).text.length }
  })
  const port = await new Promise<number>((resolve) => {
    const server = koa.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
  })
  return { port, tokens, deviceId, secret }
}

function read(stream: NodeJS.ReadableStream): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => resolve(Buffer.concat(chunks)))
    stream.on('error', reject)
  })
}

async function startZin(plugins: readonly Plugin[], env: Readonly<Record<string, string>>): Promise<Started> {
  const quiet = (): void => undefined
  const log: OwnedLogger = {
    level: 'info',
    trace: quiet,
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: quiet,
    fatal: quiet,
    child: () => log,
    close: async () => undefined,
  }
  const rootDir = process.argv[3] ?? ''
  const host = new Host(
    {
      plugins: [...plugins, jwt(), bulletproof(), login({ verifyCredentials: async () => undefined })],
      routes: [
        {
          method: 'POST',
          path: '/api/notes',
          summary: 'Notes',
          use: ['auth', 'bulletproof'],
          body: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
          handler: (ctx) => ({ length: (ctx.input.body as { text: string }).text.length }),
        },
      ],
    },
    {
      rootDir,
      env: plainEnv({
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        PORT: '0',
        ZIN_DATA_DIR: rootDir,
        APP_KEY: randomBytes(32).toString('base64url'),
        BULLETPROOF_SIGNING_SECRET: randomBytes(32).toString('base64url'),
        ...env,
      }),
      log,
    },
  )
  const address = await host.start({ listen: true })
  const { device, secret } = await host.service(devicesService).enroll({ userId: user.sub })
  const { deviceId } = device
  const tokens: string[] = []
  while (tokens.length < tokenCount) tokens.push((await host.service(tokensService).issue({ ...user, deviceId })).token)
  return { port: address?.port ?? 0, tokens, deviceId, secret }
}

/** Like `memory`, with the plugin observability; the last argument is the OTLP endpoint. */
async function startObserved(endpoint: string): Promise<Started> {
  const metrics = { METRICS_EXPORT_ENABLED: 'true', METRICS_PORT: '0' }
  const ratios: Readonly<Record<string, string>> = { 'traces-all': '1', 'traces-some': '0.01' }
  const ratio = ratios[kind ?? '']
  const traces = {
    WORKER_OPENTELEMETRY_ENABLED: 'true',
    WORKER_OPENTELEMETRY_ENDPOINT: endpoint,
    WORKER_OPENTELEMETRY_SAMPLING_RATIO: ratio ?? '',
  }
  return startZin([ops(), observability()], ratio === undefined ? metrics : { ...metrics, ...traces })
}

const [, , kind, , redisUrl = ''] = process.argv
process.on('disconnect', () => process.exit())
const started =
  kind === 'bare'
    ? startBare()
    : kind === 'redis'
      ? startZin([kv({ prefix: 'bench' })], { REDIS_URL: redisUrl })
      : kind === 'memory'
        ? startZin([], {})
        : startObserved(redisUrl)
process.send?.(await started)
