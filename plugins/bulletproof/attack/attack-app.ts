import type { Attack } from './attack.js'
import { ownClaims } from './families/identity.js'
import { isAccepted, statusesOf } from './judge.js'
import { Kit, type KitParts } from './kit.js'
import { type Finding, runAttacks } from './run.js'
import { createSender, type Sender } from './sender.js'
import { type Answer, headerOf } from './wire.js'

export interface AttackOptions extends Omit<KitParts, 'host' | 'now' | 'marginMs'> {
  /** `http:` or `https:`, without a path. */
  readonly origin: URL
  readonly attacks: readonly Attack[]
  /** ms since 1970. */
  readonly now: () => number
  readonly pause: (ms: number) => Promise<void>
  readonly signal: AbortSignal
  /** How long one request may take, in ms. */
  readonly timeoutMs: number
}

/** What was found, or why nothing could be tried. */
export type AttackReport = { readonly findings: readonly Finding[] } | { readonly unable: string }

/** Sends the corpus to a running app, once an honest request has shown that the app takes the given credentials. */
export async function attackApp(options: AttackOptions): Promise<AttackReport> {
  const { origin, attacks, pause, signal, mint, ...given } = options
  const send = createSender({ origin, signal, timeoutMs: options.timeoutMs })
  const kitAt = (offset: number): Kit =>
    new Kit({
      ...given,
      host: origin.host,
      now: () => Math.round(options.now() + offset),
      // A clock that is learned from a Date header is known to the second.
      marginMs: offset === 0 ? 1_000 : 3_000,
    })
  try {
    const first = await sendOne(send, kitAt(0))
    const offset = isAccepted(first) ? 0 : clockOffset(first, options.now())
    const kit = kitAt(offset)
    const honest = offset === 0 ? first : await sendOne(send, kit)
    if (!isAccepted(honest)) return { unable: refusalOf(kit, honest) }
    const minting = mint !== undefined && (await takesMinted(send, kit, mint)) ? { mint } : {}
    return { findings: await runAttacks({ kit: new Kit({ ...kit.parts, ...minting }), attacks, send, pause, signal }) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (signal.aborted || code === undefined) throw error
    return { unable: `no app answers on ${origin.origin} (${code}); start it with "zin start"` }
  }
}

async function sendOne(send: Sender, kit: Kit): Promise<Answer> {
  const [answer] = await send([kit.sign()])
  return answer as Answer
}

/** Tokens of another key would be refused whatever the app checks. */
async function takesMinted(send: Sender, kit: Kit, mint: NonNullable<KitParts['mint']>): Promise<boolean> {
  const token = await mint(ownClaims(kit))
  const answers = await send([kit.sign({ as: { ...kit.parts.me, token } })])
  return answers.every(isAccepted)
}

/** How far the server's clock is ahead, in ms; 0 when it cannot be told from this one. */
function clockOffset(answer: Answer, now: number): number {
  const server = Date.parse(headerOf(answer, 'date') ?? '')
  const offset = server + 500 - now
  return Number.isNaN(offset) || Math.abs(offset) < 1_500 ? 0 : offset
}

const hints: Readonly<Record<number, string>> = {
  0: 'the connection was closed without an answer',
  401: 'are key id, secret and token of this app, and the header prefix, the window and the clock right? zin auth:explain tells which layer refuses a captured request',
  403: 'the user may not do this; choose another route with --path',
  404: 'there is no such route; choose one with --path and --method that lists "auth" and "bulletproof"',
  405: 'the route takes another method; choose it with --method',
  400: 'the route needs another body or query; give it with --body and --path',
  413: 'the body is too long for the route',
  415: 'the route takes another type of body',
  421: 'the app does not answer on this host name; use the one it is reached by',
  429: 'the app is limiting requests; wait, or raise the limit for this address',
  503: 'a store of the app is down',
}

function refusalOf({ target }: Kit, answer: Answer): string {
  const hint = hints[answer.status] ?? 'give a route that answers with 2xx'
  return `the honest request ${target.method} ${target.path} was answered ${statusesOf([answer])}, so no attack would mean anything: ${hint}`
}
