import type { First, HookSpecs, Notify, Settle } from 'zin'
import type { Device } from './contract.js'

/** One decision about one request; nothing in it is secret. */
export interface AuthDecision {
  /** Number of the failed layer, as counted by the specification; undefined when all passed. */
  readonly layer: number | undefined
  readonly outcome: 'accepted' | 'refused'
  /** First 16 hex digits of the key id's SHA-256; empty when the request has no well-formed key id. */
  readonly keyIdHash: string
  /** Path of the request without its query. */
  readonly path: string
}

export interface BulletproofHooks {
  onDeviceRemoved: Settle<[device: Pick<Device, 'deviceId' | 'userId'>]>
  onAuthDecision: Notify<[decision: AuthDecision]>
  resolveSigningSecret: First<[keyId: string], string>
}

export const bulletproofHooks = {
  onDeviceRemoved: {
    kind: 'settle',
    args: ['device'],
    summary:
      'A device of a user was removed: end other credentials of the login on it, such as its session. The removal waits for it, and fails if it fails',
  },
  onAuthDecision: {
    kind: 'notify',
    args: ['decision'],
    summary: 'A signed request was accepted or refused; the decision names the failed layer, which the response never reveals',
  },
  resolveSigningSecret: {
    kind: 'first',
    args: ['keyId'],
    summary: 'The secret of a key id that matches no device; undefined falls back to the shared secret',
  },
} satisfies HookSpecs<BulletproofHooks>

declare module 'zin' {
  interface HookMap extends BulletproofHooks {}
}
