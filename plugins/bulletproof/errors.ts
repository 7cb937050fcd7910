import { defineErrors, storeUnavailable, type WaitBudget } from 'zin'
import { newSecretCommand } from 'zin/plugins/jwt'
import type { Pending } from './pending.js'

export const bulletproofErrors = defineErrors({
  DEVICE_NOT_FOUND: {
    status: 404,
    message: (id: string) => `You have no active device "${id}"; see GET /auth/devices`,
    when: 'The caller has no active device with this id',
    fix: 'Use an id that `GET /auth/devices` lists',
  },
  DEVICE_PUBLIC_KEY_INVALID: {
    status: 400,
    message: () =>
      'devicePublicKey must be an Ed25519 public key: 32 raw bytes as 43 characters of base64url, canonical and not of small order',
    when: 'A device enrolls with an invalid Ed25519 public key: not a key, of small order, or not in canonical encoding',
    fix: 'Send 32 raw bytes as 43 characters of base64url',
  },
  USER_ID_INVALID: {
    status: 500,
    message: (most: number) => `A user id must have 1 to ${most} characters`,
    when: 'A plugin enrolls a device for a user id that is empty or longer than 191 characters',
    fix: 'Use user ids of 1 to 191 characters',
  },
  BULLETPROOF_SECRET_TOO_SHORT: {
    message: (name: string, bytes: number) =>
      `bulletproof: ${name} has ${bytes} bytes and production requires 32 or more; run "zin key:bulletproof"`,
    when: 'At boot in production: the shared secret has fewer than 32 bytes',
    fix: 'Run `zin key:bulletproof`',
  },
  BULLETPROOF_APP_KEY_MISSING: {
    message: (driver: string) =>
      `bulletproof: APP_KEY encrypts the device secrets in the ${driver} store; set it to 32 random bytes or more in the environment or .env. A new secret: ${newSecretCommand}`,
    when: 'At boot in production: devices are stored and `APP_KEY` is empty',
    fix: 'Set it to 32 random bytes or more',
  },
  BULLETPROOF_APP_KEY_TOO_SHORT: {
    message: (bytes: number) =>
      `bulletproof: APP_KEY has ${bytes} bytes and production requires 32 or more, because it encrypts the device secrets; set a longer one in the environment or .env`,
    when: 'At boot in production: `APP_KEY` has fewer than 32 bytes',
    fix: 'Set it to 32 random bytes or more, and add the old key to `APP_KEY_BK`',
  },
  BULLETPROOF_STORE_MISSING: {
    message: (option: string, plugin: string) =>
      `bulletproof: ${option} requires the plugin ${plugin}; enable it in zin.config.ts or choose another store`,
    when: 'At boot: the plugin of a chosen store is not enabled',
    fix: 'Enable it, or choose another store',
  },
  AUTH_EXPLAIN_FILE: {
    message: (why: string) => `the captured request cannot be read: ${why}`,
    when: '`auth:explain`: the file with the captured request does not exist or cannot be parsed',
    fix: 'Correct the file as the message says',
  },
})

/** Runs a task that depends on a store; every failure becomes a 503. @param waits the time budget of the request. */
export function needingStore<T>(task: () => Promise<T>, waits?: WaitBudget): Promise<T>
export function needingStore<T>(task: () => Pending<T>, waits?: WaitBudget): Pending<T>
export function needingStore<T>(task: () => Pending<T>, waits?: WaitBudget): Pending<T> {
  const fail = (error: unknown): never => {
    throw storeUnavailable(error)
  }
  try {
    const result = waits === undefined ? task() : waits.run(task)
    return result instanceof Promise ? result.catch(fail) : result
  } catch (error) {
    return fail(error)
  }
}
