import { resolve } from 'node:path'
import { complianceErrors } from '../../errors.js'
import type { ComplianceContext } from '../../part.js'
import { raisePlaceAlarm } from '../alarm.js'
import { fileAnchor } from '../anchor/file.js'
import { type AnchorLog, readAnchor } from '../anchor/read.js'
import { webhookAnchor, webhookFault } from '../anchor/webhook.js'
import type { Chain } from '../chain.js'
import type { AuditEntry } from '../entry.js'
import type { Checkpoint } from './checkpoint.js'
import { Checkpoints } from './checkpoints.js'
import { Publisher, type PublisherState } from './publisher.js'
import { SecondPlace } from './second-place.js'
import type { Witness } from './witness.js'

/** What a verification compares the tables with. */
export interface Witnesses {
  readonly all: readonly Witness[]
  readonly anchor: AnchorLog | undefined
}

/** The places outside the tables of the log that get its seals: kv, and the anchors that are configured. */
export interface Places {
  readonly second: SecondPlace | undefined
  readonly states: readonly PublisherState[]
  /** Brings the newest seal of this process to all places, in the background. @param entries those that are new in it. */
  put(chain: Chain, entries: readonly AuditEntry[]): void
  /** Resolves when the places that work have the newest seal. Never rejects. */
  flush(): Promise<void>
  /** Brings the last seal to all places, and stops. */
  close(): Promise<void>
  /** Reads the anchor file, if there is one. Throws AUDIT_ANCHOR_UNREADABLE. @param file relative to the folder of the app. */
  witnesses(file?: string, signal?: AbortSignal): Promise<Witnesses>
}

/** Minimum time between two writes to kv, in ms, and the deadlines. */
const kvEveryMs = 250
const kvMs = 3_000
const anchorMs = 5_000

export function createPlaces(ctx: ComplianceContext): Places {
  const { clock, host, log, options, services, settings } = ctx
  const { WORKER_AUDIT_ANCHOR_FILE: file, WORKER_AUDIT_ANCHOR_SECRET: secret, WORKER_AUDIT_ANCHOR_URL: url } = settings
  const pathOf = (given: string): string => resolve(host.app.rootDir, given)
  const publisher = (place: string, everyMs: number, deadlineMs: number, save: (checkpoint: Checkpoint) => Promise<void>): Publisher =>
    new Publisher({
      place,
      save,
      everyMs,
      deadlineMs,
      clock,
      log,
      onState: (state) => raisePlaceAlarm(services.decisions, services.cluster.node.id, state),
    })
  const second = services.kv && new SecondPlace(services.kv)
  const anchorEveryMs = options.auditAnchorSeconds * 1_000
  const publishers = [
    ...(second === undefined ? [] : [publisher(second.name, kvEveryMs, kvMs, (checkpoint) => second.save(checkpoint))]),
    ...(file === '' ? [] : [publisher(`the anchor file ${pathOf(file)}`, anchorEveryMs, anchorMs, fileAnchor(pathOf(file), clock))]),
    ...(url === ''
      ? []
      : [publisher('the anchor URL', anchorEveryMs, anchorMs, webhookAnchor({ url, secret, clock, timeoutMs: anchorMs }))]),
  ]
  const checkpoints = new Checkpoints(settings.WORKER_DATA_RETENTION)
  ctx.onCheck(() => {
    const fault = url === '' ? undefined : webhookFault({ url, secret })
    if (fault !== undefined) throw complianceErrors.AUDIT_ANCHOR_INVALID(fault)
  })
  return {
    second,
    get states() {
      return publishers.map(({ state }) => state)
    },
    put: (chain, entries) => {
      const checkpoint = checkpoints.next(chain, entries)
      for (const one of publishers) one.put(checkpoint)
    },
    flush: async () => {
      const working = publishers.filter(({ state }) => state.failingSince === undefined)
      await Promise.all(working.map((one) => one.flush()))
    },
    close: async () => void (await Promise.all(publishers.map((one) => one.close()))),
    async witnesses(given = file, signal) {
      const anchor = given === '' ? undefined : await readAnchor(pathOf(given), signal)
      return { anchor, all: [...(second === undefined ? [] : [second]), ...(anchor === undefined ? [] : [anchor])] }
    },
  }
}
