import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, type Command, defineCommand, type Printer } from 'zin'
import type { Tokens } from 'zin/plugins/jwt'
import { signatureHeaderNames } from 'zin/signing'
import type { AttackReport } from './attack-app.js'
import type { CredentialOptions } from './credentials.js'
import type { Minting } from './kit.js'

export interface AttackCommandParts {
  readonly headerPrefix: string
  readonly signedPathPrefix: string
  readonly signedAuthority: string
  readonly windowMs: number
  readonly tokens: Pick<Tokens, 'issue' | 'ephemeral'>
  readonly clock: Clock
}

const text = (summary: string) => ({ type: 'string', summary }) as const

/** `zin auth:attack <url>`. Exit code 0: nothing found; 1: a hole; 2: an attack could not be run. */
export function attackCommand(parts: AttackCommandParts): Command {
  return defineCommand({
    name: 'auth:attack',
    summary: 'Run known attacks against the signed requests of a running app',
    needs: 'config',
    json: true,
    args: [{ name: 'url', summary: 'origin of the app, such as http://127.0.0.1:7777' }],
    options: {
      path: { type: 'string', summary: 'Path and query of a route that lists auth and bulletproof', default: '/api/me' },
      method: text('Method of the route; default: GET, with --body POST'),
      body: text('Request body; it is sent for real, many times'),
      'content-type': { type: 'string', summary: 'Type of the body', default: 'application/json' },
      email: text('Log in as this user, twice'),
      'password-env': text('Environment variable that holds the password'),
      'other-email': text('Log in as a second user'),
      'other-password-env': text('Environment variable that holds the password of the second user'),
      'key-id': text('Sign as this key id instead of logging in'),
      'secret-env': text('Environment variable that holds the signing secret'),
      'token-env': text('Environment variable that holds the JWT'),
      'other-key-id': text('Key id of a second user'),
      'other-secret-env': text('Environment variable that holds the signing secret of the second user'),
      'other-token-env': text('Environment variable that holds the JWT of the second user'),
      window: { type: 'int', summary: 'Timestamp window of the app, in ms', default: parts.windowMs, min: 1_000, max: 300_000 },
      slow: { type: 'boolean', summary: 'Also run attacks that take longer than the window' },
    },
    async run({ args, options, env, print, signal }) {
      const origin = originOf(args.url ?? '')
      const target = {
        method: (options.method ?? (options.body === undefined ? 'GET' : 'POST')).toUpperCase(),
        path: options.path,
        body: options.body,
        contentType: options['content-type'],
      }
      const wrong = problemOf(origin, target)
      if (origin === undefined || wrong !== undefined) {
        print.error(wrong ?? '')
        return 2
      }
      // Loaded on demand: starting an app does not need them.
      const [{ attackApp }, { attacks }, { CredentialProblem, findCredentials }] = await Promise.all([
        import('./attack-app.js'),
        import('./attacks.js'),
        import('./credentials.js'),
      ])
      const { tokens, headerPrefix } = parts
      const mint = tokens.ephemeral
        ? undefined
        : async (claims: Readonly<Record<string, unknown>>, options?: Minting): Promise<string> =>
            (await tokens.issue(claims, options)).token
      const given = { origin, options: options as CredentialOptions, env, headerPrefix, mint, signal }
      const credentials = await findCredentials(given).catch((error: unknown) => {
        if (error instanceof CredentialProblem) return error
        throw error
      })
      if (credentials instanceof CredentialProblem) {
        print.error(credentials.message)
        return 2
      }
      try {
        const report = await attackApp({
          ...credentials,
          origin,
          target,
          attacks,
          names: signatureHeaderNames(headerPrefix),
          signedPathPrefix: parts.signedPathPrefix,
          signedAuthority: parts.signedAuthority,
          windowMs: options.window,
          patient: options.slow,
          now: () => parts.clock.now(),
          pause: (ms) => pause(ms, undefined, { signal }),
          signal,
          timeoutMs: 10_000,
          ...(mint === undefined ? {} : { mint }),
        })
        return printReport(print, `${target.method} ${origin.origin}${target.path}`, report)
      } finally {
        await credentials.end()
      }
    },
  })
}

function originOf(url: string): URL | undefined {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isOrigin = parsed !== undefined && ['http:', 'https:'].includes(parsed.protocol) && parsed.href === `${parsed.origin}/`
  return isOrigin ? parsed : undefined
}

function problemOf(origin: URL | undefined, { method, path }: { readonly method: string; readonly path: string }): string | undefined {
  if (origin === undefined)
    return 'the address must have the form http://127.0.0.1:7777, without user, path, query or fragment; pass the path with --path'
  if (!/^[A-Z]+$/.test(method)) return `option --method takes a method such as POST, not "${method}"`
  const parsed = path.startsWith('/') && URL.canParse(path, origin) ? new URL(path, origin) : undefined
  if (parsed === undefined || parsed.pathname + parsed.search !== path || parsed.origin !== origin.origin)
    return `option --path takes a path such as /api/notes?a=1, as a URL parser serializes it, not "${path}"`
  return undefined
}

function printReport(print: Printer, target: string, report: AttackReport): number {
  if ('unable' in report) {
    print.error(report.unable)
    return 2
  }
  const { findings } = report
  const count = (verdict: string): number => findings.filter((finding) => finding.verdict === verdict).length
  const holes = findings.filter(({ verdict }) => verdict === 'hole')
  if (print.json)
    print.record({ target, safe: count('safe'), holes: holes.length, unclear: count('unclear'), skipped: count('skipped'), findings })
  else {
    print.table(
      findings.map(({ attack, verdict, seen, why = '' }) => ({ attack, verdict: verdict === 'hole' ? 'HOLE' : verdict, seen, why })),
    )
    for (const { attack, why, fix } of holes) print.line(`\n${attack}: ${why}\n  ${fix}`)
    print.line(
      `\n${target}: ${findings.length} attacks, ${count('safe')} safe, ${holes.length} holes, ${count('unclear')} unclear, ${count('skipped')} skipped`,
    )
  }
  if (holes.length > 0) return 1
  return count('unclear') > 0 ? 2 : 0
}
