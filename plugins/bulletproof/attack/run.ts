import type { Attack, Round } from './attack.js'
import { imprintOf, isAccepted, judge, statusesOf, type Verdict } from './judge.js'
import type { Kit } from './kit.js'
import type { Sender } from './sender.js'
import type { WireResponse } from './wire.js'

export interface Finding {
  readonly attack: string
  readonly verdict: Verdict
  /** Response statuses, round by round. */
  readonly seen: string
  /** For a hole, what is wrong; for `unclear` and `skipped`, the reason. */
  readonly why?: string
  /** For a hole: how to fix it. */
  readonly fix?: string
}

export interface RunParts {
  readonly kit: Kit
  readonly attacks: readonly Attack[]
  readonly send: Sender
  /** Waits for a time in ms. */
  readonly pause: (ms: number) => Promise<void>
  readonly signal: AbortSignal
}

/**
 * Runs the attacks one by one, then checks that all refusals were identical and that valid requests still pass. If a request without
 * credentials passes, only the family `missing` is run: all other attacks would succeed for the same reason.
 */
export async function runAttacks(parts: RunParts): Promise<readonly Finding[]> {
  const { kit, attacks, send, signal } = parts
  const [usual] = (await send([kit.sign()])) as [WireResponse]
  const refusals = new Map<string, string[]>()
  const findings: Finding[] = []
  for (const [index, attack] of attacks.entries()) {
    if (signal.aborted) break
    if (isOpen(findings) && !attack.name.startsWith('missing:')) return [...findings, notTried(attacks.length - index)]
    findings.push(await tryAttack(attack, parts, usual, refusals))
  }
  findings.push(uniformity(refusals))
  const after = await send([kit.sign()])
  const serves = after.every(isAccepted)
  findings.push({
    attack: 'response:after-all',
    verdict: serves ? 'safe' : 'hole',
    seen: statusesOf(after),
    ...(serves
      ? {}
      : {
          why: 'after refused requests, the valid caller is refused, too',
          fix: 'Do not use up a nonce or lock a device for a request that does not verify.',
        }),
  })
  return findings
}

/** Whether the request without credentials succeeded; any other hole is a crash. */
function isOpen(findings: readonly Finding[]): boolean {
  return findings.some(({ attack, verdict, seen }) => attack === 'missing:everything' && verdict === 'hole' && seen.startsWith('2'))
}

function notTried(count: number): Finding {
  return {
    attack: 'response:after-all',
    verdict: 'skipped',
    seen: '',
    why: `the route is not guarded; ${count} more attacks were not run`,
  }
}

async function tryAttack(attack: Attack, parts: RunParts, usual: WireResponse, refusals: Map<string, string[]>): Promise<Finding> {
  const { kit, send, pause } = parts
  const reason = attack.unless?.(kit)
  const rounds = reason ?? (await attack.rounds(kit))
  if (typeof rounds === 'string') return { attack: attack.name, verdict: 'skipped', seen: '', why: rounds }
  const seen: string[] = []
  for (const round of rounds) {
    if (round.afterMs !== undefined) await pause(round.afterMs)
    const responses = await send(typeof round.requests === 'function' ? round.requests() : round.requests)
    seen.push(statusesOf(responses))
    const { verdict, why } = judge(round.expect, responses, usual)
    if (verdict !== 'safe') return found(attack, round, verdict, why, seen.join(' · '))
    if (round.expect === 'refused') for (const response of responses) remember(refusals, imprintOf(response), attack.name)
  }
  return { attack: attack.name, verdict: 'safe', seen: seen.join(' · ') }
}

function found(attack: Attack, round: Round, verdict: Verdict, why: string | undefined, seen: string): Finding {
  if (verdict === 'hole') return { attack: attack.name, verdict, seen, why: why ?? attack.hole, fix: attack.fix }
  const left = round.otherwise !== undefined
  return { attack: attack.name, verdict: left ? 'skipped' : verdict, seen, why: round.otherwise ?? why ?? '' }
}

function remember(refusals: Map<string, string[]>, imprint: string, attack: string): void {
  const names = refusals.get(imprint)
  if (names === undefined) refusals.set(imprint, [attack])
  else if (!names.includes(attack)) names.push(attack)
}

/** Refusals that differ reveal which check a request has passed. */
function uniformity(refusals: ReadonlyMap<string, readonly string[]>): Finding {
  const attack = 'response:uniform'
  const kinds = [...refusals].sort((a, b) => b[1].length - a[1].length)
  const seen = kinds.map(([imprint]) => /\d{3}|0/.exec(imprint)?.[0] ?? '').join(', ')
  const wrongStatus = kinds.find(([imprint]) => !imprint.startsWith('HTTP 401\n'))
  if (kinds.length <= 1 && wrongStatus === undefined) return { attack, verdict: 'safe', seen }
  const [, ...odd] = kinds
  const names = (odd.length > 0 ? odd : kinds).flatMap(([, attacks]) => attacks)
  return {
    attack,
    verdict: 'hole',
    seen,
    why: `refusals differ, which shows an attacker which check failed: ${[...new Set(names)].slice(0, 6).join(', ')}`,
    fix: 'Return the same 401 for every failed check, byte for byte: status, headers and body. Name the layer in logs and hooks only.',
  }
}
