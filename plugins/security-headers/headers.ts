import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Context, Middleware } from 'koa'
import type { SecurityHeadersOptions } from './options.js'

type HelmetFactory = typeof import('koa-helmet').default
type Directives = Record<string, string[]>

/** Returns the headers that koa-helmet sets, which are the same for every response. Throws for an invalid policy. */
export async function headersOf(helmet: HelmetFactory, options: SecurityHeadersOptions): Promise<Readonly<Record<string, string>>> {
  const { contentSecurityPolicy, strictTransportSecurity, frameOptions, referrerPolicy } = options
  const { crossOriginResourcePolicy, crossOriginOpenerPolicy } = options
  return collect(
    helmet({
      contentSecurityPolicy: contentSecurityPolicy === false ? false : csp(contentSecurityPolicy),
      strictTransportSecurity:
        strictTransportSecurity === false
          ? false
          : {
              maxAge: strictTransportSecurity.maxAgeSeconds,
              includeSubDomains: strictTransportSecurity.includeSubDomains ?? false,
              preload: strictTransportSecurity.preload ?? false,
            },
      xFrameOptions: frameOptions === false ? false : { action: frameOptions === 'DENY' ? 'deny' : 'sameorigin' },
      referrerPolicy: referrerPolicy === false ? false : { policy: referrerPolicy },
      crossOriginResourcePolicy: crossOriginResourcePolicy === false ? false : { policy: crossOriginResourcePolicy },
      crossOriginOpenerPolicy: crossOriginOpenerPolicy === false ? false : { policy: crossOriginOpenerPolicy },
    }),
  )
}

/** The text of a policy, as koa-helmet writes it. */
export async function policyText(helmet: HelmetFactory, policy: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const headers = await collect(helmet.contentSecurityPolicy(csp(policy)))
  return headers['content-security-policy'] as string
}

const csp = (policy: Readonly<Record<string, readonly string[]>>): { useDefaults: false; directives: Directives } => ({
  useDefaults: false,
  directives: Object.fromEntries(Object.entries(policy).map(([name, values]) => [name, [...values]])),
})

/** Runs a middleware once, and returns the headers that it set. */
async function collect(middleware: Middleware): Promise<Readonly<Record<string, string>>> {
  const req = new IncomingMessage(new Socket())
  const res = new ServerResponse(req)
  await middleware({ req, res } as Context as never, async () => undefined)
  return Object.fromEntries(Object.entries(res.getHeaders()).map(([name, value]) => [name, String(value)]))
}
