import { defineErrors, storeUnavailable, type WaitBudget, ZinError } from 'zin'
import type { Pending } from './pending.js'

export const bulletproofErrors = defineErrors({
  DEVICE_PUBLIC_KEY_INVALID: {
    status: 400,
    message: () =>
      'devicePublicKey must be an Ed25519 public key: 32 raw bytes as 43 characters of base64url, canonical and not of small order',
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

/** Runs what depends on a store; whatever fails in it is a 503. @param waits bounds it, when it is a part of a request. */
export function needingStore<T>(task: () => Promise<T>, waits?: WaitBudget): Promise<T>
export function needingStore<T>(task: () => Pending<T>, waits?: WaitBudget): Pending<T>
export function needingStore<T>(task: () => Pending<T>, waits?: WaitBudget): Pending<T> {
  const fail = (error: unknown): never => {
    throw error instanceof ZinError && error.code === 'AUTH_STORE_UNAVAILABLE' ? error : storeUnavailable(error)
  }
  try {
    const result = waits === undefined ? task() : waits.run(task)
    return result instanceof Promise ? result.catch(fail) : result
  } catch (error) {
    return fail(error)
  }
}
