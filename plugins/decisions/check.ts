import type { Actor } from 'zin/plugins/ops'
import type { DecisionFilter, Json, NewDecision } from './contract.js'
import { decisionErrors } from './errors.js'

const word = /^[a-z][a-z0-9-]{1,39}$/
const subjectForm = /^[a-z][a-z0-9-]{0,39}:[^\s\p{C}]+$/u
const ruleForm = /^[a-z0-9][a-z0-9-]{0,49}\/[a-z0-9][a-z0-9.-]*$/
const linkForm = /^\/[^\s\p{C}]*$/u
const linkName = /^[A-Za-z][A-Za-z0-9_-]{0,39}$/
const line = /^[^\p{Cc}\p{Cs}\u2028\u2029]+$/u

const longest = { subject: 200, reason: 500, rule: 100, link: 500, actor: 300, page: 1_000_000 }
const mostLinks = 10
const inputBytes = 4096
const latestTime = 8.64e15

/** Returns a validated copy of a decision, with its actor. Throws DECISION_INVALID. */
export function checkDecision(given: NewDecision): NewDecision & { readonly actor: Actor } {
  const rule = isText(given?.rule) ? JSON.stringify(given.rule.slice(0, longest.rule)) : '(unknown)'
  const demand = (holds: boolean, what: string): void => {
    if (!holds) throw decisionErrors.DECISION_INVALID(rule, what)
  }
  demand(typeof given === 'object' && given !== null, 'it must be an object')
  const { kind, subject, verdict, acted, reason, inputs, rule: ruleId, actor, links } = given
  demand(matches(kind, word, 40), '"kind" must be 2 to 40 characters of a-z, 0-9 and "-", starting with a letter')
  demand(
    matches(subject, subjectForm, longest.subject),
    `"subject" must be <type>:<id> such as worker:email-sender, at most ${longest.subject} characters without spaces`,
  )
  demand(matches(verdict, word, 40), '"verdict" must be 2 to 40 characters of a-z, 0-9 and "-", starting with a letter')
  demand(typeof acted === 'boolean', '"acted" must be true, or false in a dry run')
  demand(matches(reason, line, longest.reason) && reason.trim() !== '', `"reason" must be one line of 1 to ${longest.reason} characters`)
  demand(
    matches(ruleId, ruleForm, longest.rule),
    '"rule" must be <plugin>/<rule> such as canary/fast-path, at most 100 characters of a-z, 0-9, "-" and "."',
  )
  demand(actor === undefined || isActor(actor), '"actor" must be {kind, id, via, device?}, as in onWorkerChange')
  demand(links === undefined || areLinks(links), `"links" must be at most ${mostLinks} API paths by name, such as {"circuit": "/api/..."}`)
  return {
    kind,
    subject,
    verdict,
    acted,
    reason,
    ...(inputs === undefined ? {} : { inputs: checkInputs(inputs, demand) }),
    rule: ruleId,
    actor: actor === undefined ? { kind: 'plugin', id: ruleId.slice(0, ruleId.indexOf('/')), via: 'plugin' } : { ...actor },
    ...(links === undefined ? {} : { links: { ...links } }),
  }
}

/** Validates a filter and applies defaults. Throws INVALID_DECISIONS_QUERY. */
export function checkFilter({ subject, kind, since, page = 1, limit = 100 }: DecisionFilter): DecisionFilter & {
  readonly page: number
  readonly limit: number
} {
  const demand = (holds: boolean, what: string): void => {
    if (!holds) throw decisionErrors.INVALID_DECISIONS_QUERY(what)
  }
  demand(
    subject === undefined || matches(subject, subjectForm, longest.subject),
    `"subject" must be <type>:<id> such as worker:email-sender, at most ${longest.subject} characters`,
  )
  demand(kind === undefined || matches(kind, word, 40), '"kind" must be 2 to 40 characters of a-z, 0-9 and "-", starting with a letter')
  demand(
    since === undefined || isIntIn(since, 0, latestTime),
    '"since" must be ms since 1970 or an ISO 8601 time such as 2026-01-31T12:00:00Z',
  )
  demand(isIntIn(page, 1, longest.page), `"page" must be an integer from 1 to ${longest.page}`)
  demand(isIntIn(limit, 1, 100), '"limit" must be an integer from 1 to 100')
  return {
    ...(subject === undefined ? {} : { subject }),
    ...(kind === undefined ? {} : { kind }),
    ...(since === undefined ? {} : { since }),
    page,
    limit,
  }
}

function checkInputs(inputs: unknown, demand: (holds: boolean, what: string) => void): Readonly<Record<string, Json>> {
  demand(isObject(inputs), '"inputs" must be an object')
  let text: string | undefined
  try {
    text = JSON.stringify(inputs)
  } catch {
    demand(false, '"inputs" cannot be serialized as JSON')
  }
  const bytes = Buffer.byteLength(text ?? '')
  demand(bytes <= inputBytes, `"inputs" has ${bytes} bytes of JSON; the maximum is ${inputBytes}`)
  const copy: unknown = JSON.parse(text ?? 'null')
  demand(isObject(copy), '"inputs" must be an object')
  return copy as Readonly<Record<string, Json>>
}

function isActor(actor: unknown): actor is Actor {
  if (!isObject(actor)) return false
  const { kind, id, via, device, ...rest } = actor as Record<string, unknown>
  return (
    ['user', 'key', 'local', 'plugin'].includes(kind as string) &&
    ['http', 'cli', 'plugin'].includes(via as string) &&
    matches(id, line, longest.actor) &&
    (device === undefined || matches(device, line, longest.actor)) &&
    Object.keys(rest).length === 0
  )
}

function areLinks(links: unknown): boolean {
  if (!isObject(links)) return false
  const entries = Object.entries(links)
  return entries.length <= mostLinks && entries.every(([name, path]) => linkName.test(name) && matches(path, linkForm, longest.link))
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)
const matches = (value: unknown, form: RegExp, most: number): value is string => isText(value) && value.length <= most && form.test(value)
const isIntIn = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && Number(value) >= min && Number(value) <= max
