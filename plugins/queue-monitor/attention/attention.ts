import { type Clock, type Logger, type Manage, messageOf, type NotifySlot, withDeadline } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import { demand, type Scope } from '../access/scope.js'
import { monitorErrors } from '../errors.js'
import type { AttentionChange } from '../hooks.js'
import {
  type Acknowledgements,
  acknowledgementOf,
  acknowledgementsKey,
  parseAcknowledgements,
  storeAcknowledgement,
} from './acknowledgements.js'
import type { Collector } from './collector.js'
import { type AttentionItem, type AttentionList, inOrder, itemOf, type NotChecked, oneLine, type Tracked } from './item.js'
import { isRaised, others, type Step, track } from './track.js'

/** Who asks: `all` also covers what is not about queues. */
export interface Asker {
  readonly scope: Scope
  readonly all: boolean
}

export interface AttentionOptions {
  readonly collector: Pick<Collector, 'collect' | 'publish'>
  readonly kv: Kv
  readonly clock: Clock
  readonly log: Logger
  readonly manage: Manage
  /** How often the leader checks, in ms. */
  readonly periodMs: number
  /** Whether this process is the one that checks and tells. */
  readonly leads: () => boolean
  /** Whether this is a process of the app, not a command. */
  readonly isApp: boolean
  readonly onAttentionChange: NotifySlot<[change: AttentionChange]>
  /** Delivers changes. If it throws, they are delivered with the next check. */
  readonly deliver: (changes: readonly AttentionChange[]) => Promise<void>
}

/** The list as the leader stored it. */
interface Stored {
  /** ms since 1970. */
  readonly at: number
  readonly tracked: readonly Tracked[]
  readonly notChecked: readonly NotChecked[]
  /** Changes that may not have been delivered, oldest first. */
  readonly untold?: readonly AttentionChange[]
}

interface Known extends Stored {
  readonly acknowledged: Acknowledgements
}

const storedKey = 'monitor:attention'
const keptMs = 7 * 86_400_000
const readMs = 2_000
/** How long a check on request is shared by its callers, in ms. */
const sharedMs = 2_000
const mostNote = 500
/** Undelivered changes that are kept: the newest. */
const mostUntold = 1_000

/**
 * What needs attention. The leader checks once per period, tells about changes and stores the list; other processes read it. Where no leader
 * does so, a process checks on request.
 */
export class Attention {
  readonly #options: AttentionOptions
  /** As last known to this process, for when the store does not respond. */
  #last: Stored = { at: 0, tracked: [], notChecked: [] }
  #asked: { readonly at: number; readonly known: Promise<Stored> } | undefined
  #failing = false

  constructor(options: AttentionOptions) {
    this.#options = options
  }

  /** Publishes what only this process knows; on the leader, also checks and tells. Call it once per period. Never rejects. */
  async tick(): Promise<void> {
    const { collector, leads, log } = this.#options
    try {
      await collector.publish()
      if (leads()) await this.#check()
      this.#failing = false
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, `what needs attention could not be checked: ${messageOf(error)}`)
      this.#failing = true
    }
  }

  /** Lists what the caller may see. Never rejects: what could not be read is in `notChecked`. */
  async list({ all, scope }: Asker): Promise<AttentionList> {
    const { acknowledged, at, notChecked, tracked } = await this.#known()
    const items = visible(tracked, { all, scope })
      .sort(inOrder)
      .map((one) => itemOf(one, at, acknowledgementOf(acknowledged, one)))
    const covered = scope.queues === '*' ? 'queues' : `the queues ${scope.queues.slice(0, 10).join(', ')}`
    const outside = { kind: 'outside-of-queues', reason: `Your credentials cover ${covered} only; what else needs attention is not shown` }
    const unlisted = tracked.filter((one) => isRaised(one) && one.subject === others).map(unlistedOf)
    return { items, notChecked: all ? notChecked : [...notChecked, ...unlisted, outside], at: new Date(at).toISOString() }
  }

  /** Acknowledges an item. 404 ATTENTION_NOT_FOUND, 400 ATTENTION_NOTE_INVALID, 503 if it cannot be stored. */
  async acknowledge(id: string, given: string, asker: Asker): Promise<AttentionItem> {
    const { scope } = asker
    demand(scope, 'write')
    const { clock, kv, manage } = this.#options
    const note = oneLine(given, mostNote + 1)
    if (note === '' || note.length > mostNote) throw monitorErrors.ATTENTION_NOTE_INVALID(mostNote)
    const { at, tracked } = await this.#known()
    const found = visible(tracked, asker).find((one) => one.id === id)
    if (found === undefined) throw monitorErrors.ATTENTION_NOT_FOUND(id)
    const acknowledged = { note, by: scope.actor, at: new Date(clock.now()).toISOString() }
    const action = { action: 'attention.acknowledge', target: `attention:${id}`, actor: scope.actor, reason: note }
    await manage(action, () => storeAcknowledgement(kv, found, acknowledged, tracked))
    return itemOf(found, at, acknowledged)
  }

  async #check(): Promise<void> {
    const { clock, collector, deliver, kv, log, onAttentionChange } = this.#options
    const before = await this.#stored()
    const found = await collector.collect()
    const at = clock.now()
    const step = track(before?.tracked ?? this.#last.tracked, found, at)
    const changes = [...(before?.untold ?? []), ...changesOf(step, at)].slice(-mostUntold)
    const checked: Stored = { at, tracked: step.after, notChecked: found.notChecked.map(withoutPlugin) }
    const store = (stored: Stored) => kv.set(storedKey, JSON.stringify(stored), { ttlMs: keptMs })
    if (changes.length > 0) {
      // If the delivery fails, or the process ends before it is known, they are delivered again as the same episode, with the same ids.
      await store({ ...checked, untold: changes })
      await deliver(changes)
    }
    this.#last = checked
    await store(checked)
    for (const change of changes) {
      const { cause, kind, subject } = change.item
      log[change.state === 'raised' ? 'warn' : 'info']({ kind, subject }, `needs attention (${change.state}): ${subject}: ${cause}`)
      if (onAttentionChange.active) onAttentionChange.call(change)
    }
  }

  async #known(): Promise<Known> {
    const { clock, kv, periodMs } = this.#options
    try {
      const read = kv.getMany([storedKey, acknowledgementsKey])
      const [text = null, acks = null] = await withDeadline(read, readMs, `no response within ${readMs} ms`)
      const stored = parsed(text)
      const acknowledged = parseAcknowledgements(acks)
      if (stored !== undefined) this.#last = stored.at >= this.#last.at ? stored : this.#last
      const isFresh = stored !== undefined && Math.abs(clock.now() - stored.at) <= 2 * periodMs
      if (isFresh) return { ...stored, acknowledged }
      const known = await this.#onRequest()
      const notChecked = this.#options.isApp ? known.notChecked : [...known.notChecked, this.#unattended(stored)]
      return { ...known, notChecked, acknowledged }
    } catch (error) {
      const known = await this.#onRequest()
      const reason = oneLine(`The stored list could not be read, so that ages and acknowledgements may be missing: ${messageOf(error)}`)
      return { ...known, notChecked: [{ kind: 'history', reason }, ...known.notChecked], acknowledged: {} }
    }
  }

  /** Checks now, because no leader has. Callers share a check. */
  #onRequest(): Promise<Stored> {
    const { clock, collector } = this.#options
    const asked = clock.monotonic()
    if (this.#asked === undefined || asked - this.#asked.at > sharedMs) {
      const known = collector.collect().then((found) => {
        const at = clock.now()
        this.#last = { at, tracked: track(this.#last.tracked, found, at).after, notChecked: found.notChecked.map(withoutPlugin) }
        return this.#last
      })
      this.#asked = { at: asked, known }
    }
    return this.#asked.known
  }

  /** In a command: no process of the app has checked of late. */
  #unattended(stored: Stored | undefined): NotChecked {
    const last = stored === undefined ? 'ever' : `since ${new Date(stored.at).toISOString()}`
    return {
      kind: 'processes',
      reason: `No process of the app has checked ${last}: none may be running, and what only they know is missing`,
    }
  }

  async #stored(): Promise<Stored | undefined> {
    return parsed(await this.#options.kv.get(storedKey))
  }
}

function parsed(text: string | null): Stored | undefined {
  return text === null ? undefined : (JSON.parse(text) as Stored)
}

function withoutPlugin({ kind, reason }: NotChecked): NotChecked {
  return { kind, reason }
}

/** Nobody knows which of those that are not listed concern the queues of a caller. */
function unlistedOf({ kind, count }: Tracked): NotChecked {
  return {
    kind,
    reason: `${count.toLocaleString('en-US')} more of this kind are not listed one by one; some of them may concern your queues`,
  }
}

/** What the caller may see; credentials for queues see only what concerns their queues. */
function visible(tracked: readonly Tracked[], { all, scope }: Asker): Tracked[] {
  const sees = ({ queue }: Tracked): boolean => all || (queue === '*' ? scope.queues === '*' : queue !== undefined && scope.sees(queue))
  return tracked.filter((one) => isRaised(one) && sees(one))
}

function changesOf({ cleared, raised }: Step, at: number): readonly AttentionChange[] {
  const change = (state: AttentionChange['state'], one: Tracked): AttentionChange => ({
    state,
    item: itemOf(one, at, undefined),
    episode: `${one.id}-${one.firstAt}`,
    at: new Date(at).toISOString(),
  })
  return [...raised.map((one) => change('raised', one)), ...cleared.map((one) => change('cleared', one))]
}
