import type { Attack } from './attack.js'
import { ownClaims } from './families/identity.js'
import { isAccepted, statusesOf } from './judge.js'
import { Kit, type KitParts } from './kit.js'
import { type Finding, runAttacks } from './run.js'
import { createSender, type Sender } from './sender.js'
import { headerOf, type WireResponse } from './wire.js'

export interface AttackOptions extends Omit<KitParts, 'host' | 'now' | 'marginMs'> {
  /** `http:` or `https:`, without a path. */
  readonly origin: URL
  readonly attacks: readonly Attack[]
  /** ms since 1970. */
  readonly now: () => number
  readonly pause: (ms: number) => Promise<void>
  readonly signal: AbortSignal
  /** Timeout of one request, in ms. */
  readonly timeoutMs: number
}

/** The findings, or the reason why no attack could be run. */
export type AttackReport = { readonly findings: readonly Finding[] } | { readonly unable: string }

/** Runs the attacks against a running app, after a valid request has shown that the app accepts the given credentials. */
export async function attackApp(options: AttackOptions): Promise<AttackReport> {
  const { origin, attacks, pause, signal, mint, ...given } = options
  const send = createSender({ origin, signal, timeoutMs: options.timeoutMs })
  const kitAt = (offset: number): Kit =>
    new Kit({
      ...given,
      host: origin.host,
      now: () => Math.round(options.now() + offset),
      // The Date header gives the server's clock to the second.
      marginMs: offset === 0 ? 1_000 : 3_000,
    })
  try {
    const first = await sendOne(send, kitAt(0))
    const offset = isAccepted(first) ? 0 : clockOffset(first, options.now())
    const kit = kitAt(offset)
    const valid = offset === 0 ? first : await sendOne(send, kit)
    if (!isAccepted(valid)) return { unable: refusalOf(kit, valid) }
    const minting = mint !== undefined && (await acceptsMinted(send, kit, mint)) ? { mint } : {}
    return { findings: await runAttacks({ kit: new Kit({ ...kit.parts, ...minting }), attacks, send, pause, signal }) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (signal.aborted || code === undefined) throw error
    return { unable: `no app listens on ${origin.origin} (${code}); start it with "zin start"` }
  }
}

async function sendOne(send: Sender, kit: Kit): Promise<WireResponse> {
  const [response] = await send([kit.sign()])
  return response as WireResponse
}

/** Tokens signed with another key would be refused whatever the app checks. */
async function acceptsMinted(send: Sender, kit: Kit, mint: NonNullable<KitParts['mint']>): Promise<boolean> {
  const token = await mint(ownClaims(kit))
  const responses = await send([kit.sign({ as: { ...kit.parts.me, token } })])
  return responses.every(isAccepted)
}

/** How far the server's clock is ahead, in ms; 0 when the difference is too small to measure. */
function clockOffset(response: WireResponse, now: number): number {
  const server = Date.parse(headerOf(response, 'date') ?? '')
  const offset = server + 500 - now
  return Number.isNaN(offset) || Math.abs(offset) < 1_500 ? 0 : offset
}

const hints: Readonly<Record<number, string>> = {
  0: 'the connection was closed without a response',
  401: 'check the key id, secret and token, the header prefix, the window and the clock; zin auth:explain names the layer that refuses a captured request',
  403: 'the user lacks permission; choose another route with --path',
  404: 'no route matches; choose one that lists "auth" and "bulletproof" with --path and --method',
  405: 'the route has another method; set it with --method',
  400: 'the route requires another body or query; set them with --body and --path',
  413: 'the body exceeds the limit of the route',
  415: 'the route requires another content type; set it with --content-type',
  421: 'the app does not serve this host name; use one that it serves',
  429: 'the app limits requests; wait, or raise the limit for this address',
  503: 'a store of the app is unavailable',
}

function refusalOf({ target }: Kit, response: WireResponse): string {
  const hint = hints[response.status] ?? 'choose a route that returns 2xx'
  return `the valid request ${target.method} ${target.path} got ${statusesOf([response])}, so attacks would prove nothing: ${hint}`
}
