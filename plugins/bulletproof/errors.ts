import { defineErrors, ZinError } from 'zin'
import type { Pending } from './pending.js'

export const bulletproofErrors = defineErrors({
  DEVICE_PUBLIC_KEY_INVALID: {
    status: 400,
    message: () => 'devicePublicKey must be an Ed25519 public key: 32 raw bytes as 43 characters of base64url',
  },
  DEVICE_NOT_FOUND: { status: 404, message: (id: string) => `You have no device "${id}" in use; see GET /auth/devices` },
  BULLETPROOF_STORE_MISSING: {
    status: 500,
    message: (option: string, plugin: string) =>
      `bulletproof: ${option} needs the plugin ${plugin}; enable it in zin.config.ts or choose another store`,
  },
  BULLETPROOF_SECRET_TOO_SHORT: {
    status: 500,
    message: (name: string, bytes: number) =>
      `bulletproof: ${name} has ${bytes} bytes and production needs 32 or more; run "zin key:bulletproof"`,
  },
  BULLETPROOF_APP_KEY_MISSING: {
    status: 500,
    message: (driver: string) =>
      `bulletproof: APP_KEY seals the device secrets in the ${driver} store; set it to 32 random bytes or more in the environment or .env`,
  },
  BULLETPROOF_APP_KEY_TOO_SHORT: {
    status: 500,
    message: (bytes: number) => `bulletproof: APP_KEY has ${bytes} bytes and production needs 32 or more, for it seals the device secrets`,
  },
})

/** The one body of every refusal. */
export const unauthorizedBody = { error: 'Unauthorized', message: 'Unauthorized', code: 'UNAUTHORIZED', reason: 'unauthorized' } as const

/** A store or a secret resolver gives no answer: neither yes nor no may be said. */
export function storeUnavailable(cause: unknown): ZinError {
  return new ZinError('AUTH_STORE_UNAVAILABLE', 'Authentication is not possible right now; try again in a few seconds', {
    status: 503,
    headers: { 'Retry-After': '2' },
    cause,
  })
}

/** Runs what depends on a store; whatever fails in it is a 503. */
export function needingStore<T>(task: () => Promise<T>): Promise<T>
export function needingStore<T>(task: () => Pending<T>): Pending<T>
export function needingStore<T>(task: () => Pending<T>): Pending<T> {
  const fail = (error: unknown): never => {
    throw error instanceof ZinError && error.code === 'AUTH_STORE_UNAVAILABLE' ? error : storeUnavailable(error)
  }
  try {
    const result = task()
    return result instanceof Promise ? result.catch(fail) : result
  } catch (error) {
    return fail(error)
  }
}
